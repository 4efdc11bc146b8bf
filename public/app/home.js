// What the page knows and does: this browser's peer at the gateway, whom it sees, and the sessions that it is in.
//
// Everything that lasts is at the gateway. `settle` makes what is missing there, and so it is right after a reload, after
// the gateway was away, and after it has forgotten everything.

import { forget, keep, settings } from './settings.js'
import { Transfers } from './transfers.js'
import { Room } from './room.js'

const ranks = ['viewer', 'member', 'operator', 'admin']

export class Home {
  #isSettling = false
  #closed = false
  #rooms = new Map()

  constructor(gateway, about, changed) {
    this.gateway = gateway
    this.about = about
    this.client = about.client
    this.changed = changed
    const { name, type, meeting, peer, session } = settings()
    Object.assign(this, { name, type, meeting, peerID: peer, selected: session })
    /** What went wrong with something that was asked for, until it is put away. */
    this.trouble = null
    this.transfers = new Transfers(this)
    this.peers = this.#follow('/v1/peers')
    this.browsers = this.#follow('/v1/browsers')
    this.advertisers = this.#follow('/v1/advertisers')
    this.invitations = this.#follow('/v1/invitations')
    this.sessions = this.#follow('/v1/sessions', () => this.#syncRooms())
    this.events = this.#follow('/v1/events', () => this.#heedEvents())
    this.found = null
    if (this.isOperator) {
      this.clients = this.#follow('/v1/clients')
      this.codes = this.#follow('/v1/pairing-codes')
    }
    this.gateway.addEventListener('state', this.#stateChanged)
    this.settle()
  }

  close() {
    this.#closed = true
    this.gateway.removeEventListener('state', this.#stateChanged)
  }

  #stateChanged = () => {
    if (this.gateway.state === 'online') this.settle()
    this.changed()
  }

  #follow(path, then) {
    const collection = this.gateway.follow(path)
    collection.onchange = () => {
      then?.()
      this.changed()
    }
    return collection
  }

  // Who this is

  #may(role) { return ranks.indexOf(this.client.role) >= ranks.indexOf(role) }
  get canAct() { return this.#may('member') }
  get isOperator() { return this.#may('operator') }

  /** Those that this client may give to others. */
  get roles() {
    const own = ranks.indexOf(this.client.role)
    return this.client.role === 'admin' ? ranks : ranks.slice(0, own)
  }

  /** Whoever only looks on sees what the gateway's own peer sees. */
  get me() {
    if (!this.canAct) return this.peers.items.find((peer) => peer.isGateway)
    return this.peers.get(this.peerID)
  }

  get hasName() { return !this.canAct || this.name !== '' }

  /** A new name is a new peer: the one before leaves everything. */
  async rename(name, type) {
    const before = this.me
    if (before && before.displayName === name && this.type === type) return
    if (before?.displayName !== name) {
      const peer = await this.gateway.post('/v1/peers', { displayName: name })
      this.peerID = peer.id
      if (before && this.canAct) await this.gateway.delete(`/v1/peers/${before.id}`)
    }
    Object.assign(this, { name, type })
    keep({ name, type, peer: this.peerID })
    await this.settle()
  }

  // What stands at the gateway for this browser

  async settle() {
    if (this.#isSettling || this.#closed) return
    this.#isSettling = true
    try {
      const lists = [this.peers, this.browsers, this.advertisers, this.invitations, this.sessions]
      await Promise.all(lists.map((collection) => collection.ready))
      this.about = await this.gateway.get('/v1/gateway')
      if (this.canAct && this.name) {
        await this.#settlePeer()
        await this.#settleSession()
        await this.#settleMeeting()
        await this.#settleBrowser()
      }
      this.#followFound()
      this.#syncRooms()
    } catch (problem) {
      // Without the gateway there is nothing to settle, and its return begins this anew.
      if (problem.kind !== 'offline' && problem.kind !== 'unauthorized') this.fail(problem)
    } finally {
      this.#isSettling = false
      this.changed()
    }
  }

  async #settlePeer() {
    if (this.peers.get(this.peerID)) return
    const own = this.peers.items.find((peer) => !peer.isGateway && peer.displayName === this.name)
    const peer = own ?? await this.gateway.post('/v1/peers', { displayName: this.name })
    this.peerID = peer.id
    keep({ peer: peer.id })
  }

  async #settleSession() {
    if (this.sessions.items.some((session) => session.peer === this.peerID)) return
    await this.openSession()
  }

  async #settleMeeting() {
    const own = this.advertisers.items.filter((advertiser) => advertiser.peer === this.peerID)
    const isRight = (one) => one.serviceType === this.type && one.invitations === this.meeting && one.state !== 'failed'
      && (this.meeting !== 'adhoc' || this.sessions.get(one.session))
    for (const advertiser of own) {
      if (!isRight(advertiser)) await this.gateway.delete(`/v1/advertisers/${advertiser.id}`)
    }
    if (this.meeting === 'nobody' || own.some(isRight)) return
    const body = { peer: this.peerID, serviceType: this.type, invitations: this.meeting }
    if (this.meeting === 'adhoc') body.session = this.room?.id ?? this.selected
    await this.gateway.post('/v1/advertisers', body)
  }

  async #settleBrowser() {
    const own = this.browsers.items.filter((browser) => browser.peer === this.peerID)
    const [right, ...more] = own.filter((browser) => browser.serviceType === this.type)
    for (const browser of [...more, ...own.filter((one) => one.serviceType !== this.type)]) {
      await this.gateway.delete(`/v1/browsers/${browser.id}`)
    }
    const browser = right ?? await this.gateway.post('/v1/browsers', { peer: this.peerID, serviceType: this.type })
    this.browserID = browser.id
  }

  #followFound() {
    const browser = this.canAct ? this.browserID : this.browsers.items.find((one) => one.peer === this.me?.id)?.id
    const path = browser && `/v1/browsers/${browser}/found`
    if (this.found?.path === path && this.found?.state !== 'ended') return
    this.found?.close()
    this.found = path ? this.#follow(path) : null
  }

  /** 'nobody' finds this peer, those who ask are let in by hand ('ask'), or all meet ('adhoc'). */
  async meet(how) {
    this.meeting = how
    keep({ meeting: how })
    await this.settle()
  }

  // Peers and invitations

  get nearby() { return this.found?.items ?? [] }

  get incoming() {
    if (!this.canAct) return []
    return this.invitations.items.filter((one) => one.direction === 'incoming' && one.state === 'pending'
      && one.peer === this.peerID)
  }

  /** The latest of this session to that peer. */
  invitationTo(peer) {
    return this.invitations.items.findLast((one) => one.direction === 'outgoing' && one.to === peer
      && one.session === this.room?.id)
  }

  invite(peer, note) {
    return this.gateway.post('/v1/invitations', {
      peer: this.peerID, to: peer, session: this.room.id, serviceType: this.type, ...(note ? { context: note } : {}),
    })
  }

  async accept(invitation) {
    const session = this.room?.id ?? (await this.openSession()).id
    await this.gateway.patch(`/v1/invitations/${invitation.id}`, { state: 'accepted', session })
  }

  decline(invitation) { return this.gateway.patch(`/v1/invitations/${invitation.id}`, { state: 'declined' }) }
  takeBack(invitation) { return this.gateway.patch(`/v1/invitations/${invitation.id}`, { state: 'cancelled' }) }

  // Sessions

  get rooms() { return [...this.#rooms.values()] }
  get room() { return this.#rooms.get(this.selected) ?? this.rooms[0] }

  async openSession() {
    const session = await this.gateway.post('/v1/sessions', { peer: this.peerID, resources: 'ask' })
    this.select(session.id)
    return session
  }

  select(id) {
    this.selected = id
    keep({ session: id })
    this.changed()
  }

  /** Another one takes the place of the last. */
  async leave(room) {
    await this.gateway.delete(room.path)
    if (this.rooms.every((other) => other === room)) await this.openSession()
    await this.settle()
  }

  #syncRooms() {
    const own = this.sessions.items.filter((session) => session.peer === this.me?.id)
    const wanted = new Set(own.map((session) => session.id))
    for (const [id, room] of this.#rooms) {
      if (wanted.has(id)) continue
      room.close()
      this.#rooms.delete(id)
    }
    for (const session of own) {
      const room = this.#rooms.get(session.id) ?? new Room(this, session.id)
      room.session = session
      this.#rooms.set(session.id, room)
    }
  }

  // The rest

  #heedEvents() {
    const last = this.events.items.at(-1)
    if (last === this.lastEvent) return
    this.lastEvent = last
    if (last?.about === '/v1/gateway') this.gateway.get('/v1/gateway').then((about) => {
      this.about = about
      this.changed()
    }, () => {})
  }

  /** Here and at the gateway. */
  async deleteAll() {
    const kept = settings()
    // First: the page is at its entrance as soon as the WebSocket ends, which may be before the answer is here.
    forget()
    try {
      await this.gateway.deleteSelf()
    } catch (problem) {
      keep(kept)
      throw problem
    }
  }

  /** Does what somebody has asked for, and shows what becomes of it if that is nothing. */
  async attempt(work) {
    try {
      return await work()
    } catch (problem) {
      this.fail(problem)
      return null
    }
  }

  fail(problem) {
    if (problem.name === 'AbortError') return
    this.trouble = problem
    this.changed()
  }
}
