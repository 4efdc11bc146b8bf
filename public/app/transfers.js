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
    this.#loaded = Promise.all([import('../client/resource.js'), import('../client/content-upload.js')])
      .then(([resource, upload]) => { this.#parts = { ...resource, ...upload } })
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
   * Sends each file to the members. All are offered before the first is uploaded, and so stand together; one is uploaded
   * after the other, once for all members, so that the first is there first.
   */
  async send(room, files, members) {
    await this.#loaded
    const offers = []
    for (const file of files) offers.push(await this.home.attempt(() => this.#offer(room, file, members)))
    for (const offer of offers) if (offer) await this.#upload(room, offer)
  }

  /** The same file to the same members that a reload has interrupted is no new one. */
  async #offer(room, file, members) {
    const to = members.map(({ peer }) => peer)
    const known = await this.#parts.interrupted(this.home.gateway, room.id, { to, name: file.name, content: file })
    const items = known?.items ?? (await this.home.gateway.post(`${room.path}/resources`, {
      to, name: file.name, size: file.size, contentType: file.type || 'application/octet-stream',
    })).resources
    if (file.type.startsWith('image/') && file.type !== 'image/svg+xml') {
      this.#previews.set(items[0].id, URL.createObjectURL(file))
    }
    return { items, file, digest: known?.digest }
  }

  /** Fulfilled when the gateway has all of it, or it is paused, or over. */
  #upload(room, { items, file, digest }) {
    const { ContentUpload, Resource } = this.#parts
    const resources = items.map((item) => new Resource(this.home.gateway, room.id, item))
    for (const resource of resources) this.#uploads.set(resource.id, resource)
    let isSaid = false
    for (const resource of resources) {
      resource.done.catch((problem) => {
        // Other states say how they ended; a failed upload is said once.
        if (resource.state !== 'uploading' || isSaid) return
        isSaid = true
        this.home.fail(problem)
      })
    }
    return new Promise((resolve) => {
      const look = () => {
        const isHeld = ({ isPaused, state, uploaded }) => isPaused || state !== 'uploading' || uploaded >= file.size
        if (resources.every(isHeld)) resolve()
        this.#changed()
      }
      for (const resource of resources) {
        resource.on('progress', look)
        resource.on('end', () => {
          if (resource.state === 'uploading') {
            this.#uploads.delete(resource.id)
            resolve()
          }
          look()
        })
      }
      new ContentUpload(this.home.gateway, room.id, resources, file, { digest })
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
  async resumeWith(room, copies, file) {
    await this.#loaded
    const { gateway } = this.home
    const [resource] = copies
    const { name } = resource
    const other = new Error(t('file.other', { name }))
    if (file.name !== name || file.size !== resource.size) throw other
    const known = await this.#parts.interrupted(gateway, room.id, { name, content: file, resource })
    if (known === null && await this.#parts.isRecorded(gateway, resource)) throw other
    // The gateway compares the digest of the whole of an upload that another browser began.
    await this.#upload(room, { items: copies, file, digest: known?.digest ?? new this.#parts.RunningDigest() })
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
