// Files on their way from this page to the gateway: what the gateway cannot know of them.

export class Transfers {
  #uploads = new Map()
  #previews = new Map()

  constructor(home) {
    this.home = home
  }

  /** The upload of a resource, where it is this page's; its `sent` bytes may be ahead of what the gateway tells. */
  upload(id) { return this.#uploads.get(id) }
  preview(id) { return this.#previews.get(id) }

  /** Sends each file to each of the members; one after the other, so that the first is there first. */
  async send(room, files, members) {
    for (const file of files) {
      await Promise.all(members.map((member) => this.home.attempt(() => this.#send(room, file, member))))
    }
  }

  async #send(room, file, member) {
    const stop = new AbortController()
    let id = null
    try {
      await this.home.gateway.upload(room.id, file, {
        to: member.peer, signal: stop.signal,
        onstart: (resource) => {
          id = resource.id
          this.#uploads.set(id, { sent: 0, stop })
          if (file.type.startsWith('image/') && file.type !== 'image/svg+xml') {
            this.#previews.set(id, URL.createObjectURL(file))
          }
        },
        onprogress: (sent) => {
          this.#uploads.get(id).sent = sent
          this.home.changed()
        },
      })
    } finally {
      this.#uploads.delete(id)
      this.home.changed()
    }
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
    const preview = this.#previews.get(resource.id)
    if (preview) URL.revokeObjectURL(preview)
    this.#previews.delete(resource.id)
  }
}
