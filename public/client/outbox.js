// Messages on their way to the gateway. They survive being offline, and a reload as far as the storage does.

import { emit, Emitter } from './emitter.js'
import { problem } from './problem.js'
import { backoff, pause } from './retry.js'

const messagesMax = 1_000
const bytesMax = 16 * 1024 * 1024
/** The timeout of a request, in milliseconds: a gateway that is reachable answers within seconds. */
const requestTime = 120_000
/** How long a message that had to wait for the gateway waits for its recipients, who may be coming back, too. */
const recipientTime = 30_000

/**
 * Each message is a PUT under an id of its own, which the gateway sends once however often it is asked; so another tab
 * that has the same outbox does no harm. Messages of one session go out in their order, one at a time.
 */
export class Outbox extends Emitter {
  #gateway
  #storage
  #entries = new Map()
  #bytes = 0
  #lanes = new Map()
  #wakers = new Set()
  #order = 0
  #isClosed = false

  constructor(gateway, storage) {
    super()
    this.#gateway = gateway
    this.#storage = storage
    /** Fulfilled once the messages of before the reload are here. */
    this.ready = this.#load()
    gateway.on('state', (state) => state === 'online' && this.wake())
    globalThis.addEventListener?.('online', () => this.wake())
  }

  /** In the order in which they go out. */
  get items() { return [...this.#entries.values()].sort((a, b) => a.order - b.order) }

  async #load() {
    const records = await this.#storage.all('messages').catch(() => [])
    for (const record of records.sort((a, b) => a.order - b.order)) this.#enqueue({ ...record, hasWaited: true })
  }

  /** Fulfilled with the message once the gateway has it. */
  async add({ id, session, body, to, contentType }) {
    const bytes = typeof body === 'string' ? body.length * 2 : body.byteLength
    if (this.#entries.size >= messagesMax || this.#bytes + bytes > bytesMax) {
      throw problem(
        'tooMany', 'The outbox is full', `${this.#entries.size} messages wait for the gateway already: wait for it, too.`,
        { rule: 'outbox', limit: messagesMax })
    }
    this.#order = Math.max(this.#order + 0.001, Date.now())
    const record = { id, session, body, to, contentType, order: this.#order, at: new Date().toISOString() }
    // A disk that takes nothing keeps no message from being sent.
    return this.#enqueue(record, this.#storage.put('messages', record).catch(() => {}))
  }

  /** Drops a message that is not sent yet; one that is on its way may arrive all the same. */
  async discard(id) {
    const entry = this.#entries.get(id)
    if (entry) await this.#remove(entry, (one) => one.reject(problem('cancelled', 'Discarded', 'The message was discarded.')))
  }

  /** Tries again at once what waits. */
  wake() {
    for (const waker of [...this.#wakers]) waker()
  }

  close() {
    this.#isClosed = true
    this.wake()
  }

  #enqueue(record, stored) {
    const known = this.#entries.get(record.id)
    if (known) return known.done
    const entry = { ...record, stored }
    entry.done = new Promise((resolve, reject) => Object.assign(entry, { resolve, reject }))
    // Somebody may listen to 'refused' only.
    entry.done.catch(() => {})
    this.#entries.set(entry.id, entry)
    this.#bytes += sizeOf(entry)
    emit(this, 'change', this)
    const lane = this.#lanes.get(entry.session)
    if (lane) lane.push(entry)
    else {
      this.#lanes.set(entry.session, [entry])
      this.#run(entry.session)
    }
    return entry.done
  }

  async #remove(entry, settle) {
    if (!this.#entries.delete(entry.id)) return
    this.#bytes -= sizeOf(entry)
    await entry.stored
    await this.#storage.delete('messages', entry.id).catch(() => {})
    settle(entry)
    emit(this, 'change', this)
  }

  async #run(session) {
    const lane = this.#lanes.get(session)
    while (lane.length > 0 && !this.#isClosed) {
      const [entry] = lane
      if (this.#entries.has(entry.id)) await this.#deliver(entry)
      lane.shift()
    }
    this.#lanes.delete(session)
  }

  async #deliver(entry) {
    await entry.stored
    let answeredSince = null
    for (let attempt = 0; this.#entries.has(entry.id) && !this.#isClosed; attempt += 1) {
      const { session, body, to, contentType, id } = entry
      try {
        const message = await this.#gateway.send(
          session, body, { to, contentType, id, attempts: 1, signal: AbortSignal.timeout(requestTime) })
        await this.#remove(entry, (one) => one.resolve(message))
        return emit(this, 'sent', { entry: show(entry), message })
      } catch (error) {
        const { kind, status } = error
        // Without a kind, it is the browser's, or that of a server in between.
        const isAway = kind === undefined || kind === 'offline' || status >= 500 || status === 429
        if (isAway) [entry.hasWaited, answeredSince] = [true, null]
        else answeredSince ??= Date.now()
        const mayCome = kind === 'notConnected' && entry.hasWaited && Date.now() - answeredSince < recipientTime
        if (!isAway && !mayCome) {
          await this.#remove(entry, (one) => one.reject(error))
          return emit(this, 'refused', { entry: show(entry), problem: error })
        }
      }
      await this.#pause(backoff(attempt))
    }
  }

  /** Until the time is over, or `wake` is called. */
  async #pause(milliseconds) {
    const stop = new AbortController()
    const waker = () => stop.abort()
    this.#wakers.add(waker)
    await pause(milliseconds, stop.signal).catch(() => {})
    this.#wakers.delete(waker)
  }
}

const sizeOf = ({ body }) => (typeof body === 'string' ? body.length * 2 : body.byteLength)
const show = ({ id, session, body, to, contentType, at }) => ({ id, session, body, to, contentType, at })
