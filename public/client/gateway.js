import { ensure } from './ensure.js'
import { LiveClient } from './live-client.js'
import { Outbox } from './outbox.js'
import { Peer } from './peer.js'
import { sessionOf } from './session.js'
import { indexedDBStorage, memoryStorage } from './storage.js'

/** A gateway, as one client sees it, with its peers and sessions. */
export class Vicinity extends LiveClient {
  #outbox = null
  #storage

  /**
   * `address` is where the gateway is, with its base path if it has one; without it, where this file came from. `token`
   * is what pairing gives to programs, `csrf` what it gives to a page, whose browser keeps a cookie. `WebSocket` is the
   * class to follow collections with, if the platform has none. `storage` is where messages wait over a reload.
   */
  constructor(address, { storage, ...options } = {}) {
    super(address, options)
    this.#storage = storage
  }

  /** Deletes what the gateway and the storage keep of this client, which must pair anew to come back. */
  async deleteSelf() {
    for (const { id } of this.#outbox?.items ?? []) await this.#outbox.discard(id)
    for (const table of ['messages', 'uploads']) {
      for (const { id } of await this.storage.all(table)) await this.storage.delete(table, id)
    }
    await super.deleteSelf()
  }

  // Peers and sessions

  /** This client's peer of that name: the one that it has, as after a reload and in another tab, or a new one. */
  async peer({ name, lifetime = 'stored' }) {
    this.outbox.wake()
    const wanted = (item) => !item.isGateway && item.displayName === name && item.lifetime === lifetime
    return new Peer(this, await ensure(this, '/v1/peers', { displayName: name, lifetime }, wanted))
  }

  /** A session that one of this client's peers is in, by its id; from a `position` of before on. */
  async session(id, { since } = {}) {
    this.outbox.wake()
    return sessionOf(this, await this.get(`/v1/sessions/${id}`), { since })
  }

  /** Messages that the gateway does not have yet; those of before a reload go out, too. */
  get outbox() { return (this.#outbox ??= new Outbox(this, this.storage)) }

  get storage() {
    return (this.#storage ??= globalThis.indexedDB ? indexedDBStorage(`vicinity ${this.address}`) : memoryStorage())
  }

  /** Closes the WebSocket. Messages of the outbox wait in the storage. */
  close() {
    this.#outbox?.close()
    this.#outbox = null
    super.close()
  }
}
