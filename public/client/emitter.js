// Events that carry a value: `on` for listeners, `events` for a loop.

import { problem } from './problem.js'

/** A loop that is more events behind than this is ended with a problem. */
const queueMax = 10_000

/** The method that is called with the type of each new listener: a subscription begins with its first listener. */
export const listened = Symbol('listened')

const endings = new WeakMap()

export class Emitter extends EventTarget {
  addEventListener(type, ...rest) {
    super.addEventListener(type, ...rest)
    this[listened]?.(type)
  }

  /** Calls the listener with the value of each event; returns the function that ends this. */
  on(type, listener, options) {
    const heard = ({ detail }) => listener(detail)
    this.addEventListener(type, heard, options)
    return () => this.removeEventListener(type, heard)
  }

  /**
   * The values of events from now on, for `for await`. The loop ends when this object does; it throws if events were
   * missed, or if it is `limit` events behind.
   */
  events(type, { signal, limit = queueMax } = {}) { return new EventQueue(this, type, signal, limit) }
}

/** Dispatches an event with a value. */
export function emit(target, type, detail, more) {
  target.dispatchEvent(Object.assign(new Event(type), { detail }, more))
}

/** Tells the listeners of 'end', once, and ends all loops. */
export function finish(target, error = null) {
  if (endings.has(target)) return
  endings.set(target, { error })
  emit(target, 'end', error)
}

export const hasEnded = (target) => endings.has(target)

class EventQueue {
  #values = []
  #takers = []
  #isOver = false
  #error = null
  #stops = []

  constructor(target, type, signal, limit) {
    const end = (error) => this.#end(error)
    this.#stops.push(
      target.on(type, (value) => this.#add(value, limit)),
      target.on('gap', (gap) => gap.type === type && end(gapProblem(gap))),
      target.on('end', end))
    if (endings.has(target)) end(endings.get(target).error)
    if (!signal) return
    const abort = () => end(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    this.#stops.push(() => signal.removeEventListener('abort', abort))
  }

  #add(value, limit) {
    if (this.#isOver) return
    const taker = this.#takers.shift()
    if (taker) return taker.resolve({ done: false, value })
    if (this.#values.length < limit) return this.#values.push(value)
    this.#end(problem('tooMany', 'Too far behind', `This loop is ${limit} events behind: begin another, or use on().`))
  }

  #end(error) {
    if (this.#isOver) return
    this.#isOver = true
    this.#error = error
    for (const stop of this.#stops) stop()
    // Either nobody waits, or nothing is queued.
    for (const taker of this.#takers.splice(0)) this.next().then(taker.resolve, taker.reject)
  }

  next() {
    if (this.#values.length > 0) return Promise.resolve({ done: false, value: this.#values.shift() })
    if (!this.#isOver) return new Promise((resolve, reject) => this.#takers.push({ resolve, reject }))
    const error = this.#error
    this.#error = null
    return error ? Promise.reject(error) : Promise.resolve({ done: true, value: undefined })
  }

  return() {
    this.#values = []
    this.#end(null)
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator]() { return this }
}

const gapProblem = ({ missed }) => problem(
  'gap', 'Events were missed',
  `${missed ?? 'Some'} events were missed while the gateway was away: look at what is there, and begin another loop.`)
