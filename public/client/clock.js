// The clock that all members of a session share.

import { live } from './live.js'

/** Readings one after another at first, then the pause between them, in milliseconds. */
const quickMax = 8
const quickPause = 100
const pause = 2000
/** The first reading waits for the WebSocket to open. */
const attemptsMax = 50
const attemptPause = 200
/** The number of readings of which the one with the least error counts. */
const readingsMax = 16
/** Two clocks drift apart by at most 250 parts per million. */
const drift = 250e-6

/**
 * Invariant: the bound is infinite from when a member has joined, and the clock may follow another host, until a reading that
 * began later was compared with the others' clocks.
 */
export class SessionClock {
  #gateway
  #session
  #readings = []
  #timer = null
  /** The number of readings since it was begun or doubted. */
  #count = 0
  #isPausing = false
  #over = new AbortController()
  #last = 0
  #steps = 0
  /** How often members have joined, and how often they had at the latest reading that was compared; null for none. */
  #joins = 0
  #compared = null

  constructor(gateway, session) {
    this.#gateway = gateway
    this.#session = session
  }

  /** Reads it until `close`; fulfilled with this once it has been read, and rejected where that took ten seconds. */
  async start() {
    for (let attempt = 1; this.#readings.length === 0; attempt += 1) {
      try {
        await this.#read()
      } catch (error) {
        if (error.kind !== 'offline' || attempt === attemptsMax) throw error
        await new Promise((resolve) => { setTimeout(resolve, attemptPause) })
      }
    }
    const { signal } = this.#over
    this.#session.on('member', ({ state }) => { if (state === 'connected') this.#doubt() }, { signal })
    if (!signal.aborted) this.#follow()
    return this
  }

  /** Milliseconds since the clock began: the same for all members, within `bound`. It goes back only where it is stepped. */
  get time() {
    const best = this.#best()
    this.#last = Math.max(this.#last, performance.now() + best.offset)
    return this.#last
  }

  /** The error bound of `time`, in milliseconds, to the clock of the host that is followed; infinite while that is unknown. */
  get bound() { return this.#compared === this.#joins ? this.#error(this.#best()) : Infinity }

  /** How many milliseconds from now the clock shows `time`: for timers, animations and sound. */
  until(time) { return time - this.time }

  /** Reads it no more. */
  close() {
    this.#over.abort()
    clearTimeout(this.#timer)
  }

  /** Reads it soon, and then quickly. */
  #doubt() {
    this.#joins += 1
    this.#count = 0
    if (!this.#isPausing) return
    clearTimeout(this.#timer)
    this.#follow()
  }

  #error({ error, taken }) { return error + (performance.now() - taken) * drift }

  #best() {
    return this.#readings.reduce((best, reading) => (this.#error(reading) < this.#error(best) ? reading : best))
  }

  async #read() {
    const joins = this.#joins
    const sent = performance.now()
    const { elapsedMilliseconds, boundMilliseconds, synchronized, steps } =
      await this.#gateway[live].request('GET', `${this.#session.path}/clock`)
    const taken = performance.now()
    const half = (taken - sent) / 2
    const reading = { offset: elapsedMilliseconds + half - taken, error: half + boundMilliseconds, taken }
    const known = this.#readings.length > 0 && this.#best()
    // Readings from before a step are of another time.
    const isStep = known && Math.abs(reading.offset - known.offset) > reading.error + this.#error(known)
    if (steps !== this.#steps || isStep) {
      this.#readings = []
      this.#last = 0
    }
    this.#steps = steps
    this.#compared = synchronized ? joins : null
    this.#readings.push(reading)
    if (this.#readings.length > readingsMax) this.#readings.shift()
  }

  #follow() {
    this.#count += 1
    this.#isPausing = this.#count >= quickMax
    this.#timer = setTimeout(async () => {
      this.#isPausing = false
      // Without a connection the error grows, and the next reading mends it.
      await this.#read().catch(() => {})
      if (!this.#over.signal.aborted) this.#follow()
    }, this.#isPausing ? pause : quickPause)
  }
}
