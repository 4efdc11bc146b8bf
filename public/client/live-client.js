import { emit } from './emitter.js'
import { live, LiveSocket } from './live.js'
import { RestClient } from './rest.js'

/** A client with REST, live collections and uploads alone. It emits its `state` as an event of that name. */
export class LiveClient extends RestClient {
  #live

  constructor(address, { token, csrf, WebSocket = globalThis.WebSocket } = {}) {
    super(address, { token, csrf })
    this.#live = new LiveSocket(this, WebSocket, () => emit(this, 'state', this.state))
  }

  /** The state of the WebSocket: 'idle', 'connecting', 'online', 'waiting' to reconnect after `problem`, 'refused' for it. */
  get state() { return this.#live.state }
  get problem() { return this.#live.problem }
  get [live]() { return this.#live }

  async pair(code, options) {
    const client = await super.pair(code, options)
    this.#live.reconnect()
    return client
  }

  /**
   * The unreliable messages of a session, which are not kept: each is an event, `datagram`, and its `message`. If this
   * client is too slow for some of them, `dropped` counts these.
   */
  datagrams(session) { return this.follow(`/v1/sessions/${session}/datagrams`) }

  /**
   * A collection and its changes, such as '/v1/sessions/…/messages'; close it when it is not needed any more. Each call
   * gives a collection with listeners of its own; those of one path share one subscription, which ends with the last.
   * `limit` is how many of the latest items it has, `since` a position from which on its changes are told. A path with a
   * query, such as '/v1/sessions/…/members?limit=100', is a page of the list: it costs no more than that, however long the
   * list is, and has its `counts` and the cursor of the `next` page, which `after` takes.
   */
  follow(path, options) { return this.#live.follow(path, options) }

  /** Opens the WebSocket and keeps it open. */
  connect() { this.#live.connect() }

  close() { this.#live.close() }
}
