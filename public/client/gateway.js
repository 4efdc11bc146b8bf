import { ensure } from './ensure.js'
import { Peer } from './peer.js'
import { sessionOf } from './session.js'
import { StoredClient } from './stored-client.js'

/**
 * A gateway, as one client sees it, with its peers and sessions. Its `address` is where the gateway is, with its base path if
 * it has one; without it, where this file came from. `token` is what pairing gives to programs, `csrf` what it gives to a page,
 * whose browser keeps a cookie. `WebSocket` is the class to follow collections with, if the platform has none. `storage` is
 * where messages wait over a reload.
 */
export class Vicinity extends StoredClient {
  /**
   * This client's peer of that name: the one that it has, as after a reload and in another tab, or a new one; always a new one if
   * `reuse` is false.
   */
  async peer({ name, lifetime = 'stored', reuse = true }) {
    this.outbox.wake()
    const wanted = (item) => !item.isGateway && item.displayName === name && item.lifetime === lifetime
    const body = { displayName: name, lifetime }
    return new Peer(this, reuse ? await ensure(this, '/v1/peers', body, wanted) : await this.post('/v1/peers', body))
  }

  /** A session that one of this client's peers is in, by its id; from a `position` of before on. */
  async session(id, { since } = {}) {
    this.outbox.wake()
    return sessionOf(this, await this.get(`/v1/sessions/${id}`), { since })
  }
}
