// Files on their way from this page to the gateway: what the gateway cannot know of them.

import { t } from './texts.js'

export class Transfers {
  #uploads = new Map()
  #previews = new Map()

  constructor(home) {
    this.home = home
  }

  /** The upload of a resource, where it is this page's: its `sent` bytes may be ahead of what the gateway tells. */
  upload(id) { return this.#uploads.get(id) }
  preview(id) { return this.#previews.get(id) }

  /** Sends each file to each of the members; one after the other, so that the first is there first. */
  async send(room, files, members) {
    for (const file of files) {
      await Promise.all(members.map((member) => this.home.attempt(() => this.#send(room, file, member))))
    }
  }

  async #send(room, file, member) {
    const resource = await this.home.gateway.post(`${room.path}/resources`, {
      to: member.peer, name: file.name, size: file.size, contentType: file.type || 'application/octet-stream',
    })
    if (file.type.startsWith('image/') && file.type !== 'image/svg+xml') {
      this.#previews.set(resource.id, URL.createObjectURL(file))
    }
    await this.#upload(room, resource.id, file, 0)
  }

  async #upload(room, id, file, offset) {
    const upload = { file, sent: offset, stop: new AbortController(), isPaused: false }
    this.#uploads.set(id, upload)
    try {
      await this.home.gateway.uploadContent(`${room.path}/resources/${id}`, file, {
        offset, signal: upload.stop.signal,
        onprogress: (sent) => {
          upload.sent = sent
          this.home.changed()
        },
      })
    } catch (problem) {
      if (!upload.isPaused) throw problem
    } finally {
      if (!upload.isPaused) this.#uploads.delete(id)
      this.home.changed()
    }
  }

  pause(resource) {
    const upload = this.#uploads.get(resource.id)
    upload.isPaused = true
    upload.stop.abort(new DOMException('paused', 'AbortError'))
  }

  /** Goes on from where the gateway is; with a file that was chosen again where the page has been left meanwhile. */
  async resume(room, resource, file = this.#uploads.get(resource.id)?.file) {
    if (file.name !== resource.name || file.size !== resource.size) {
      throw new Error(t('file.other', { name: resource.name }))
    }
    const { uploaded } = await this.home.gateway.get(`${room.path}/resources/${resource.id}`)
    await this.#upload(room, resource.id, file, uploaded)
  }

  accept(room, resource) {
    return this.home.gateway.patch(`${room.path}/resources/${resource.id}`, { state: 'accepted' })
  }

  decline(room, resource) {
    return this.home.gateway.patch(`${room.path}/resources/${resource.id}`, { state: 'declined' })
  }

  /** Ends it where it is under way, and takes it off the list. */
  async remove(room, resource) {
    this.#uploads.get(resource.id)?.stop.abort(new DOMException('cancelled', 'AbortError'))
    await this.home.gateway.delete(`${room.path}/resources/${resource.id}`)
    this.#uploads.delete(resource.id)
    const preview = this.#previews.get(resource.id)
    if (preview) URL.revokeObjectURL(preview)
    this.#previews.delete(resource.id)
  }
}
