// The links of the gateway to other computers, read every two seconds while they are shown.

const interval = 2000
/** The rate of heartbeats and rosters, in bytes a second: less is no traffic. */
const idleRate = 1000

export class Links {
  /** The link in use to each host, with the `standby` ones, and the `rate` of all of them in bytes a second. */
  byHost = new Map()
  #gateway
  #changed
  #timer = null
  #loadedAt = 0

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
    const timer = this.#timer
    const list = await this.#gateway.get('/v1/links').catch(() => null)
    // An answer to an earlier watch may be older than what is shown.
    if (list === null || timer !== this.#timer) return
    const now = performance.now()
    this.byHost = groupLinks(list.items, this.byHost, (now - this.#loadedAt) / 1000)
    this.#loadedAt = now
    this.#changed()
  }
}

/** The links by their hosts; `before` are those of some seconds ago. */
export function groupLinks(links, before, seconds) {
  const byHost = new Map()
  for (const link of links) if (!link.standby) byHost.set(link.host, { ...link, standby: [], bytes: 0, rate: 0 })
  for (const { host, standby, medium, bytesSent = 0, bytesReceived = 0 } of links) {
    const used = byHost.get(host)
    if (!used) continue
    used.bytes += bytesSent + bytesReceived
    if (standby) used.standby.push(medium)
  }
  for (const [host, used] of byHost) {
    // A link that has ended counts no more, and a host that is new has sent for longer than that.
    const rate = (used.bytes - (before.get(host)?.bytes ?? used.bytes)) / seconds
    if (rate > idleRate) used.rate = rate
  }
  return byHost
}
