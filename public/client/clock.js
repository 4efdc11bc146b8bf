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

export class SessionClock {
  #gateway
  #path
  #readings = []
  #timer = null
  #isOver = false
  #last = 0
  #steps = 0

  constructor(gateway, path) {
    this.#gateway = gateway
    this.#path = `${path}/clock`
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
    this.#follow(1)
    return this
  }

  /** Milliseconds since the clock began: the same for all members, within `bound`. It goes back only where it is stepped. */
  get time() {
    const best = this.#best()
    this.#last = Math.max(this.#last, performance.now() + best.offset)
    return this.#last
  }

  /** The error bound of `time`, in milliseconds, to the clock of the host that is followed. */
  get bound() { return this.#error(this.#best()) }

  /** How many milliseconds from now the clock shows `time`: for timers, animations and sound. */
  until(time) { return time - this.time }

  /** Reads it no more. */
  close() {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  #error({ error, taken }) { return error + (performance.now() - taken) * drift }

  #best() {
    return this.#readings.reduce((best, reading) => (this.#error(reading) < this.#error(best) ? reading : best))
  }

  async #read() {
    const sent = performance.now()
    const { elapsedMilliseconds, boundMilliseconds, steps } = await this.#gateway[live].request('GET', this.#path)
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
    this.#readings.push(reading)
    if (this.#readings.length > readingsMax) this.#readings.shift()
  }

  #follow(count) {
    if (this.#isOver) return
    this.#timer = setTimeout(async () => {
      // Without a connection the error grows, and the next reading mends it.
      await this.#read().catch(() => {})
      this.#follow(count + 1)
    }, count < quickMax ? quickPause : pause)
  }
}
