import { ensure } from './ensure.js'
import { emit } from './emitter.js'
import { live, LiveSocket } from './live.js'
import { Outbox } from './outbox.js'
import { Peer } from './peer.js'
import { RestClient } from './rest.js'
import { sessionOf } from './session.js'
import { indexedDBStorage, memoryStorage } from './storage.js'

/** A gateway, as one client sees it. It tells of its `state` by an event of that name. */
export class Vicinity extends RestClient {
  #live
  #outbox = null
  #storage

  /**
   * `address` is where the gateway is, with its base path if it has one; without it, where this file came from. `token`
   * is what pairing gives to programs, `csrf` what it gives to a page, whose browser keeps a cookie. `WebSocket` is the
   * class to follow collections with, if the platform has none. `storage` is where messages wait over a reload.
   */
  constructor(address, { token, csrf, WebSocket = globalThis.WebSocket, storage } = {}) {
    super(address, { token, csrf })
    this.#storage = storage
    this.#live = new LiveSocket(this, WebSocket, () => emit(this, 'state', this.state))
  }

  /** Of the WebSocket: 'idle', 'connecting', 'online', 'waiting' to try again after `problem`, 'refused' for it. */
  get state() { return this.#live.state }
  get problem() { return this.#live.problem }
  get [live]() { return this.#live }

  async pair(code, options) {
    const client = await super.pair(code, options)
    this.#live.reconnect()
    return client
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

  // Live collections

  /**
   * The unreliable messages of a session, which are not kept: each is an event, `datagram`, and its `message`. If this
   * client is too slow for some of them, `dropped` counts these.
   */
  datagrams(session) { return this.follow(`/v1/sessions/${session}/datagrams`) }

  /**
   * A collection and its changes, such as '/v1/sessions/…/messages'; close it when it is not needed any more. Each call
   * gives a collection with listeners of its own; those of one path share one subscription, which ends with the last.
   * `limit` is how many of the latest items it has, `since` a position from which on its changes are told.
   */
  follow(path, options) { return this.#live.follow(path, options) }

  /** Opens the WebSocket and keeps it open. */
  connect() { this.#live.connect() }

  /** Closes the WebSocket. Messages of the outbox wait in the storage. */
  close() {
    this.#outbox?.close()
    this.#outbox = null
    this.#live.close()
  }
}
