// Files on their way from this page to the gateway: what the gateway cannot know of them.

import { t } from './texts.js'

export class Transfers {
  /** Resources whose content is here, by their ids. */
  #uploads = new Map()
  #previews = new Map()
  /** The part of the client that uploads: the first view goes without. */
  #parts = null
  #loaded

  constructor(home) {
    this.home = home
    this.#loaded = import('../client/resource.js').then((parts) => { this.#parts = parts })
    this.#loaded.catch(() => {})
    /** Differs after each change. */
    this.version = 0
  }

  /** The upload of a resource, while it is this page's: its `uploaded` bytes may be ahead of the gateway's report. */
  upload(id) {
    const upload = this.#uploads.get(id)
    return upload?.isOver ? undefined : upload
  }

  preview(id) { return this.#previews.get(id) }

  /**
   * Sends each file to each of the members. All are offered before the first is uploaded, and so stand together; one is
   * uploaded after the other, so that the first is there first.
   */
  async send(room, files, members) {
    await this.#loaded
    const offers = []
    for (const file of files) {
      const offer = (member) => this.home.attempt(() => this.#offer(room, file, member))
      offers.push((await Promise.all(members.map(offer))).filter(Boolean))
    }
    for (const copies of offers) await Promise.all(copies.map((offer) => this.#upload(room, offer)))
  }

  /** The same file to the same member that a reload has interrupted is no new one. */
  async #offer(room, file, { peer }) {
    const known = await this.#parts.interrupted(this.home.gateway, room.id, { to: peer, name: file.name, content: file })
    const item = known?.item ?? await this.home.gateway.post(`${room.path}/resources`, {
      to: peer, name: file.name, size: file.size, contentType: file.type || 'application/octet-stream',
    })
    if (file.type.startsWith('image/') && file.type !== 'image/svg+xml') {
      this.#previews.set(item.id, URL.createObjectURL(file))
    }
    return { item, file, digest: known?.digest }
  }

  /** Fulfilled when the gateway has all of it, or it is paused, or over. */
  #upload(room, { item, file, digest }) {
    const { Resource, upload } = this.#parts
    const resource = new Resource(this.home.gateway, room.id, item)
    this.#uploads.set(item.id, resource)
    // Its state says how it ended.
    resource.done.catch((problem) => resource.state === 'uploading' && this.home.fail(problem))
    return new Promise((resolve) => {
      resource.on('progress', () => {
        if (resource.isPaused || resource.state !== 'uploading' || resource.uploaded >= file.size) resolve()
        this.#changed()
      })
      resource.on('end', () => {
        if (resource.state === 'uploading') this.#uploads.delete(item.id)
        resolve()
        this.#changed()
      })
      resource[upload](file, digest)
      this.#changed()
    })
  }

  #changed() {
    this.version += 1
    this.home.changed()
  }

  /** Takes the gateway's report of a resource; null if the resource is gone. */
  update(id, item) { this.#uploads.get(id)?.[this.#parts.update](item) }

  pause({ id }) { this.#uploads.get(id).pause() }

  resume({ id }) { this.#uploads.get(id).resume() }

  /** Goes on with the file that was chosen again, if it begins as the one of which a part is at the gateway. */
  async resumeWith(room, resource, file) {
    await this.#loaded
    const { gateway } = this.home
    const { id, to, name } = resource
    const other = new Error(t('file.other', { name }))
    if (file.name !== name || file.size !== resource.size) throw other
    const known = await this.#parts.interrupted(gateway, room.id, { to, name, content: file })
    if (known === null && (await gateway.storage.all('uploads')).some((record) => record.id === id)) throw other
    // The gateway compares the digest of the whole of an upload that another browser began.
    const digest = known?.item.id === id ? known.digest : new this.#parts.RunningDigest()
    await this.#upload(room, { item: resource, file, digest })
  }

  accept(room, resource) {
    return this.home.gateway.patch(`${room.path}/resources/${resource.id}`, { state: 'accepted' })
  }

  decline(room, resource) {
    return this.home.gateway.patch(`${room.path}/resources/${resource.id}`, { state: 'declined' })
  }

  /** Ends it where it is under way, and takes it off the list. */
  async remove(room, resource) {
    const upload = this.#uploads.get(resource.id)
    if (upload && !upload.isOver) await upload.cancel()
    else await this.home.gateway.delete(`${room.path}/resources/${resource.id}`)
    this.#uploads.delete(resource.id)
    const preview = this.#previews.get(resource.id)
    if (preview) URL.revokeObjectURL(preview)
    this.#previews.delete(resource.id)
  }
}
