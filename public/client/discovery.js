// Advertising a peer, and browsing for others. Both stay in place at the gateway: who comes back after a reload finds them.

import { emit, Emitter, finish } from './emitter.js'
import { ensure } from './ensure.js'
import { isTemporary } from './problem.js'
import { backoff, pause } from './retry.js'

/** An advertised peer: others find it until it is stopped. */
export class Advertiser {
  #gateway

  constructor(gateway, item) {
    this.#gateway = gateway
    Object.assign(this, item)
  }

  get path() { return `/v1/advertisers/${this.id}` }

  /** Changes what others can read about the peer. */
  async update(info) {
    Object.assign(this, await this.#gateway.patch(this.path, { discoveryInfo: info }))
    return this
  }

  stop() { return this.#gateway.delete(this.path) }
}

export async function advertise(gateway, peer, serviceType, info, { invitations = 'ask', session, until = 'stopped' }) {
  const isSame = (item) => item.peer === peer && item.serviceType === serviceType
    && item.invitations === invitations && item.session === session?.id && item.until === until
  const advertiser = new Advertiser(gateway, await ensure(gateway, '/v1/advertisers', {
    peer, serviceType, discoveryInfo: info, invitations, ...(session && { session: session.id }), until,
  }, isSame))
  const isCurrent = JSON.stringify(sorted(advertiser.discoveryInfo)) === JSON.stringify(sorted(info))
  return isCurrent ? advertiser : advertiser.update(info)
}

const sorted = (info) => Object.entries(info).sort()

/**
 * Peers of a service type, as they come and go: `found`, `updated` and `lost`. A loop over it has each that is found,
 * those that are there already first, and stops it at its end.
 */
export class Browser extends Emitter {
  #gateway
  #body
  #found = new Map()
  #path = null
  #collection = null
  #stop = new AbortController()

  constructor(gateway, peer, serviceType, { until = 'stopped' } = {}) {
    super()
    this.#gateway = gateway
    this.#body = { peer, serviceType, until }
    this.serviceType = serviceType
    /** Fulfilled once it browses. */
    this.ready = this.#start()
    this.ready.catch((error) => finish(this, error))
  }

  /** The peers that are found now. */
  get items() { return [...this.#found.values()] }

  async #start() {
    const { peer, serviceType, until } = this.#body
    const isSame = (item) => item.peer === peer && item.serviceType === serviceType && item.until === until
    const item = await this.#insist(() => ensure(this.#gateway, '/v1/browsers', this.#body, isSame))
    if (this.#stop.signal.aborted) return this
    this.#path = `/v1/browsers/${item.id}`
    this.#collection = this.#gateway.follow(`${this.#path}/found`)
    this.#collection.on('put', ({ item: found }) => this.#put({ ...found, serviceType }))
    this.#collection.on('del', ({ item: { id } }) => this.#lose(id))
    this.#collection.on('end', () => this.#ended())
    await this.#collection.ready
    return this
  }

  /** The gateway may be away for a moment. */
  async #insist(work) {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await work()
      } catch (error) {
        if (!isTemporary(error)) throw error
        await pause(backoff(attempt), this.#stop.signal)
      }
    }
  }

  #put(found) {
    const isKnown = this.#found.has(found.id)
    this.#found.set(found.id, found)
    emit(this, isKnown ? 'updated' : 'found', found)
  }

  #lose(id) {
    const found = this.#found.get(id)
    if (this.#found.delete(id)) emit(this, 'lost', found)
  }

  /** Another tab has stopped it, or it has ended by itself; in the first case this one needs another. */
  #ended() {
    if (this.#stop.signal.aborted) return
    for (const id of [...this.#found.keys()]) this.#lose(id)
    if (this.#body.until !== 'stopped') return finish(this)
    this.#start().catch((error) => finish(this, error))
  }

  async stop() {
    if (this.#stop.signal.aborted) return
    this.#stop.abort()
    this.#collection?.close()
    finish(this)
    if (this.#path) await this.#gateway.delete(this.#path)
  }

  [Symbol.asyncIterator]() {
    const queue = this.events('found')
    const known = this.items
    return {
      next: async () => (known.length > 0 ? { done: false, value: known.shift() } : queue.next()),
      return: async () => {
        await queue.return()
        await this.stop()
        return { done: true, value: undefined }
      },
    }
  }
}
