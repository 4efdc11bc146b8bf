import { LiveClient } from './live-client.js'
import { Outbox } from './outbox.js'
import { indexedDBStorage, memoryStorage } from './storage.js'

/** A client of which messages and uploads survive a reload. */
export class StoredClient extends LiveClient {
  #outbox = null
  #storage

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
