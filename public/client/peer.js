// A peer: a participant with a name, whom others find, invite and meet in sessions.

import { advertise, Browser } from './discovery.js'
import { Emitter, finish, listened } from './emitter.js'
import { ensure } from './ensure.js'
import { peerID } from './id.js'
import { InvitationInbox, invite } from './invitation.js'
import { sessionOf } from './session.js'

export class Peer extends Emitter {
  #gateway
  #inbox = null

  constructor(gateway, item) {
    super()
    this.#gateway = gateway
    this.id = item.id
    this.displayName = item.displayName
  }

  // How others are met

  /** Lets others of the service type find this peer, with a few texts about it. */
  advertise(serviceType, info = {}, options = {}) {
    return advertise(this.#gateway, this.id, serviceType, info, options)
  }

  /** Looks for others of the service type. */
  browse(serviceType, options) { return new Browser(this.#gateway, this.id, serviceType, options) }

  /**
   * Invites a found peer into a new session, or into one that is given; fulfilled with the session once the two are
   * connected. The context is text or bytes, for whoever decides; the timeout is in seconds.
   */
  async invite(found, { serviceType = found.serviceType, session, context, timeout = 30, signal } = {}) {
    const own = session ?? await this.session()
    try {
      const name = found.displayName
      await invite(this.#gateway, own, { to: peerID(found), name, serviceType, context, timeout, signal })
      return own
    } catch (error) {
      if (!session) await own.leave().catch(() => {})
      throw error
    }
  }

  /** The invitations that wait for an answer, and new ones; as a loop. `on('invitation', …)` does the same. */
  invitations(options) { return this.events('invitation', options) }

  // Sessions

  /** A new session, with the options of the contract. */
  async session(options = {}) {
    return this.#made(await this.#gateway.post('/v1/sessions', { peer: this.id, ...options }))
  }

  /** The session with all who have joined the same service type, without invitations. */
  async join(serviceType, options = {}) {
    const body = { peer: this.id, adhoc: serviceType, ...options }
    const isSame = (item) => item.peer === this.id && item.adhoc === serviceType
    let isNew = true
    const item = await ensure(this.#gateway, '/v1/sessions', body, (one) => {
      const isFound = isSame(one)
      if (isFound) isNew = false
      return isFound
    })
    return isNew ? this.#made(item) : sessionOf(this.#gateway, item)
  }

  #made(item) { return sessionOf(this.#gateway, item, { isNew: true }) }

  /** Those that this peer is in, as after a reload. */
  async sessions() {
    const sessions = []
    for await (const item of this.#gateway.list(`/v1/sessions?peer=${this.id}`)) {
      sessions.push(sessionOf(this.#gateway, item))
    }
    return sessions
  }

  /** Leaves everything that it is in, and is no more. */
  async delete() {
    await this.#gateway.delete(`/v1/peers/${this.id}`)
    this.close()
  }

  /** Tells of no more invitations; the peer stays. */
  close() {
    this.#inbox?.close()
    finish(this)
  }

  [listened](type) {
    if (type === 'invitation') this.#inbox ??= new InvitationInbox(this.#gateway, this)
  }
}
