// The links of the gateway to other computers, read every five seconds while they are shown.

const interval = 5000

export class Links {
  /** The link in use to each host. */
  byHost = new Map()
  #gateway
  #changed
  #timer = null

  constructor(gateway, changed) {
    this.#gateway = gateway
    this.#changed = changed
  }

  watch() {
    if (this.#timer !== null) return
    this.#timer = setInterval(() => this.#load(), interval)
    this.#load()
  }

  stop() {
    clearInterval(this.#timer)
    this.#timer = null
  }

  async #load() {
    // While the gateway is away the last figures stay.
    const list = await this.#gateway.get('/v1/links').catch(() => null)
    if (list === null || this.#timer === null) return
    this.byHost = new Map(list.items.filter((link) => !link.standby).map((link) => [link.host, link]))
    this.#changed()
  }
}
