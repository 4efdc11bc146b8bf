// How people are reached: the computer, the medium and the round trip of those who are seen, asked for every five seconds.

import { reached } from './words.js'

/** In milliseconds: between two looks at who is seen, between two questions about one, and after one that is here. */
const [lookInterval, interval, pause] = [1000, 5000, 60_000]
/** People of whom the answer is kept. */
const keptMax = 2000

export class Reaches {
  /** Differs after each change of a text. */
  version = 0
  #home
  #byPeer = new Map()
  #lookedAt = -Infinity
  #isAsking = false

  constructor(home) {
    this.#home = home
  }

  /** The `host`, `medium` and `roundTrip`, as far as they are known, and the texts that `reached` gives. */
  of(peer) { return this.#byPeer.get(peer) ?? reached() }

  /** Asks for those of the peers that `seen` gives whose answer is old; called at each update. */
  async ask(seen) {
    const now = performance.now()
    const { found, gateway } = this.#home
    if (this.#isAsking || now - this.#lookedAt < lookInterval || document.hidden || !found || gateway.state !== 'online') return
    this.#lookedAt = now
    this.#isAsking = true
    const { version } = this
    for (const peer of seen().filter((one) => now >= (this.#byPeer.get(one)?.due ?? 0))) await this.#askFor(found.path, peer)
    this.#isAsking = false
    if (this.version !== version) this.#home.changed()
  }

  async #askFor(path, peer) {
    const before = this.of(peer)
    // A peer of this gateway is not found there; while the gateway is away the last answer stays.
    const answer = await this.#home.gateway.get(`${path}/${peer}/reach`, { attempts: 1 })
      .catch((problem) => (problem.status === 404 ? { medium: 'here', host: this.#home.about.host } : null))
    const { host, medium, roundTripMilliseconds: roundTrip } = answer ?? {}
    const known = answer ? { host, medium, roundTrip, ...reached(answer) } : before
    this.#byPeer.delete(peer)
    this.#byPeer.set(peer, { ...known, due: performance.now() + (medium === 'here' ? pause : interval) })
    if (this.#byPeer.size > keptMax) this.#byPeer.delete(this.#byPeer.keys().next().value)
    if (known.short !== before.short || known.host !== before.host) this.version += 1
  }
}
