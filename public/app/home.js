// The state and actions of the page: this browser's peer at the gateway, the peers that it sees, and its sessions.
//
// Everything that lasts is at the gateway. `settle` makes what is missing there, and so it is right after a reload, after
// the gateway was away, and after it has forgotten everything.

import { Attempts } from './attempts.js'
import { forget, keep, settings } from './settings.js'
import { t } from './texts.js'
import { Transfers } from './transfers.js'
import { Room } from './room.js'
import { sentence } from './words.js'

/** How long something can be taken back. */
const undoTime = 8000
/** The ends of invitations that this person did not choose. */
const missedStates = ['timedOut', 'cancelled', 'failed']
const ranks = ['viewer', 'member', 'operator', 'admin']

export class Home extends Attempts {
  #isUnsettled = false
  #settling = null
  #closed = false
  #followed = new Set()
  #rooms = new Map()
  /** Sessions that this page has made, until they are in the list. */
  #made = new Set()
  /** The session that was made because there was none: nobody talks in it. */
  #first = null
  /** Sessions that end at the gateway when that cannot be taken back any more. */
  #leaving = new Set()

  constructor(gateway, about, changed) {
    super(changed)
    this.gateway = gateway
    this.about = about
    this.client = about.client
    const { name, type, meeting, looking, peer, session, open } = settings()
    Object.assign(this, { name: name.trim(), type, meeting, isLooking: looking, peerID: peer, selected: session })
    /** The session that everybody can join while `meeting` is 'adhoc'. */
    this.openID = open
    /** The action that can be undone: its `text`, and its `end` in time. */
    this.undoable = null
    this.transfers = new Transfers(this)
    this.peers = this.follow('/v1/peers')
    this.browsers = this.follow('/v1/browsers')
    this.advertisers = this.follow('/v1/advertisers')
    this.invitations = this.follow('/v1/invitations')
    this.sessions = this.follow('/v1/sessions', () => this.#syncRooms())
    this.events = this.follow('/v1/events', () => this.#heedEvents())
    this.found = null
    /** The audit log, once an operator looks at it. */
    this.audit = null
    if (this.isOperator) {
      this.clients = this.follow('/v1/clients')
      this.codes = this.follow('/v1/pairing-codes')
      this.pairings = this.follow('/v1/bluetooth-pairings')
    }
    this.gateway.addEventListener('state', this.#stateChanged)
    addEventListener('pagehide', this.#hidden)
    this.settle()
  }

  close() {
    this.#closed = true
    for (const room of this.#rooms.values()) room.close()
    for (const collection of this.#followed) collection.close()
    removeEventListener('pagehide', this.#hidden)
    this.gateway.removeEventListener('state', this.#stateChanged)
  }

  #stateChanged = () => {
    if (this.gateway.state === 'online') this.settle()
    this.changed()
  }

  /** Nobody can take anything back in a page that is gone. */
  #hidden = () => this.finish({ keepalive: true })

  follow(path, then) {
    const collection = this.gateway.follow(path)
    this.#followed.add(collection)
    collection.onchange = () => {
      then?.()
      this.changed()
    }
    return collection
  }

  // This browser's peer

  #may(role) { return ranks.indexOf(this.client.role) >= ranks.indexOf(role) }
  get canAct() { return this.#may('member') }
  get isOperator() { return this.#may('operator') }

  /** The Bluetooth devices that wait for an answer; only operators are told of any. */
  get openPairings() { return (this.pairings?.items ?? []).filter(({ state }) => state === 'pending') }

  /** Those that this client may give to others. */
  get roles() {
    const own = ranks.indexOf(this.client.role)
    return this.client.role === 'admin' ? ranks : ranks.slice(0, own)
  }

  /** A viewer sees what the gateway's own peer sees. */
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

  // The items at the gateway for this browser

  /** Applies the wished state; a change meanwhile is applied before it ends. */
  settle() {
    this.#isUnsettled = true
    this.#settling ??= this.#settleAll().finally(() => { this.#settling = null })
    return this.#settling
  }

  async #settleAll() {
    while (this.#isUnsettled && !this.#closed) {
      this.#isUnsettled = false
      await this.#settleOnce()
    }
  }

  async #settleOnce() {
    try {
      const lists = [this.peers, this.browsers, this.advertisers, this.invitations, this.sessions]
      await Promise.all(lists.map((collection) => collection.ready))
      this.about = await this.gateway.get('/v1/gateway')
      if (this.canAct && this.name) {
        await this.#settlePeer()
        await this.#settleSession()
        this.#settleGuests()
        await this.#settleMeeting()
        await this.#settleBrowser()
      }
      this.#followFound()
      this.#syncRooms()
    } catch (problem) {
      // Without the gateway there is nothing to settle, and its return begins this anew.
      if (problem.kind !== 'offline' && problem.kind !== 'unauthorized') this.fail(problem)
    }
    this.changed()
  }

  async #settlePeer() {
    if (this.peers.get(this.peerID)) return
    const own = this.peers.items.find((peer) => !peer.isGateway && peer.lifetime === 'stored' && peer.displayName === this.name)
    const peer = own ?? await this.gateway.post('/v1/peers', { displayName: this.name })
    this.peerID = peer.id
    keep({ peer: peer.id })
  }

  async #settleSession() {
    if (this.sessions.items.some((session) => session.peer === this.peerID)) return
    // Nobody was in it yet, and so it may be open to everybody.
    this.openID = this.#first = (await this.openSession()).id
  }

  /** Forgets the links of guests whose time is over: the gateway lets no more in. */
  #settleGuests() {
    const { guests } = settings()
    const isOpen = ([id, { until }]) => this.sessions.get(id) && new Date(until) > Date.now()
    keep({ guests: Object.fromEntries(Object.entries(guests).filter(isOpen)) })
  }

  async #settleMeeting() {
    const own = this.advertisers.items.filter((advertiser) => advertiser.peer === this.peerID)
    if (this.meeting === 'adhoc') await this.#settleOpenSession(own)
    // One that is not available now begins by itself as soon as it can; what else failed does not.
    const isLost = (one) => one.state === 'failed' && one.problem?.type !== '/problems/unavailable'
    const isRight = (one) => one.serviceType === this.type && one.invitations === this.meeting && !isLost(one)
      && (this.meeting !== 'adhoc' || one.session === this.openID)
    for (const advertiser of own) {
      if (!isRight(advertiser)) await this.gateway.delete(`/v1/advertisers/${advertiser.id}`)
    }
    if (this.meeting === 'nobody' || own.some(isRight)) return
    const body = { peer: this.peerID, serviceType: this.type, invitations: this.meeting }
    if (this.meeting === 'adhoc') body.session = this.openID
    await this.gateway.post('/v1/advertisers', body)
  }

  /** The session that everybody may join is replaced once it is gone, and never by one in which people talk. */
  async #settleOpenSession(advertisers) {
    const isThere = (id) => this.sessions.get(id) !== undefined || this.#made.has(id)
    if (isThere(this.openID)) return
    const other = advertisers.find((one) => one.invitations === 'adhoc' && isThere(one.session))
    this.openID = other?.session ?? (await this.openSession()).id
    keep({ open: this.openID })
  }

  async #settleBrowser() {
    const own = this.browsers.items.filter((browser) => browser.peer === this.peerID)
    const [right, ...more] = own.filter((browser) => browser.serviceType === this.type && this.isLooking)
    for (const browser of [...more, ...own.filter((one) => one.serviceType !== this.type || !this.isLooking)]) {
      await this.gateway.delete(`/v1/browsers/${browser.id}`)
    }
    if (!this.isLooking) {
      this.browserID = null
      return
    }
    const browser = right ?? await this.gateway.post('/v1/browsers', { peer: this.peerID, serviceType: this.type })
    this.browserID = browser.id
  }

  #followFound() {
    const browser = this.canAct ? this.browserID : this.browsers.items.find((one) => one.peer === this.me?.id)?.id
    const path = browser && `/v1/browsers/${browser}/found`
    if (this.found?.path === path && this.found?.state !== 'ended') return
    this.found?.close()
    this.#followed.delete(this.found)
    this.found = path ? this.follow(path) : null
  }

  /** Why others are not found now, or do not find this peer; null where nothing is wrong. */
  get discoveryProblem() {
    const hasFailed = (one) => one.peer === this.me?.id && one.state === 'failed'
    const [search, shown] = [this.browsers.items.find(hasFailed), this.advertisers.items.find(hasFailed)]
    if (search) return t('discovery.search', { detail: sentence(search.problem) })
    if (shown) return t('discovery.shown', { detail: sentence(shown.problem) })
    const { state, cause, cure } = this.about.discovery ?? {}
    return state === 'unavailable' ? t('discovery.search', { detail: `${cause} ${cure}` }) : null
  }

  /** 'nobody' finds this peer, those who ask are let in by hand ('ask'), or all meet ('adhoc') in `openID`. */
  async meet(how) {
    this.meeting = how
    keep({ meeting: how, open: this.openID })
    await this.settle()
  }

  /** Lets everybody join this session, or a new one where none is given. */
  async openToAll(room) {
    const [before, selected] = [this.meeting, this.room?.id]
    // A page that has just come in makes its peer and its session first. A session from before is none that was asked about.
    if (!this.room) {
      await this.settle()
      if (this.#first && this.room?.id === this.#first) room = this.room
    }
    const made = room ? null : await this.openSession()
    this.openID = room?.id ?? made.id
    await this.meet('adhoc')
    this.offerUndo(t('undo.everyone'), {
      undo: async () => {
        await this.meet(before)
        if (!made || this.#rooms.get(made.id)?.isUsed) return
        this.select(selected)
        await this.gateway.delete(`/v1/sessions/${made.id}`)
      },
    })
  }

  /** Starts or stops browsing: a closed list does not browse. */
  async look(isLooking) {
    this.isLooking = isLooking
    keep({ looking: isLooking })
    await this.settle()
  }

  // Peers and invitations

  get nearby() { return this.found?.items ?? [] }

  get incoming() {
    if (!this.canAct) return []
    return this.invitations.items.filter((one) => one.direction === 'incoming' && one.state === 'pending'
      && one.peer === this.peerID)
  }

  /** The invitations that ended without an answer, the latest of each peer, unless that peer is here or invites again. */
  get missed() {
    const latest = new Map()
    for (const one of this.invitations.items) {
      if (one.direction === 'incoming' && one.peer === this.peerID) latest.set(one.from, one)
    }
    return [...latest.values()].filter((one) => missedStates.includes(one.state) && !this.isWith(one.from)).reverse()
  }

  /** Whether it is connected in one of the sessions. */
  isWith(peer) { return this.rooms.some((room) => room.standing(peer)?.state === 'connected') }

  /** The latest of this session to that peer. */
  invitationTo(peer) {
    return this.invitations.items.findLast((one) => one.direction === 'outgoing' && one.to === peer
      && one.session === this.room?.id)
  }

  invite(peer, note, serviceType = this.type) {
    return this.gateway.post('/v1/invitations', {
      peer: this.peerID, to: peer, session: this.room.id, serviceType, ...(note ? { context: note } : {}),
    })
  }

  async accept(invitation) {
    const room = this.#roomFor(invitation)
    const session = room?.id ?? (await this.openSession()).id
    await this.gateway.patch(`/v1/invitations/${invitation.id}`, { state: 'accepted', session })
    this.select(session)
  }

  /** The room for an inviting peer: one from which it was invited, or an unused one, so that it joins no conversation. */
  #roomFor({ from }) {
    const isAsked = (room) => this.invitations.items.some((one) => one.session === room.id && one.to === from
      && one.direction === 'outgoing' && one.state === 'pending')
    const rooms = this.room ? [this.room, ...this.rooms] : this.rooms
    const isOpen = (room) => this.meeting === 'adhoc' && room.id === this.openID
    return rooms.find(isAsked) ?? rooms.find((room) => !room.isUsed && !isOpen(room))
  }

  decline(invitation) { return this.gateway.patch(`/v1/invitations/${invitation.id}`, { state: 'declined' }) }

  /** A blocked peer's invitations do not appear, and it cannot join, until it is unblocked. */
  async block(peer, isBlocked = true) {
    const session = this.room?.session ?? await this.openSession()
    const others = session.blocked.filter((one) => one !== peer)
    await this.gateway.patch(`/v1/sessions/${session.id}`, { blocked: isBlocked ? [...others, peer] : others })
  }

  isBlocked(peer) { return this.room?.session?.blocked.includes(peer) ?? false }

  cancelInvitation(invitation) { return this.gateway.patch(`/v1/invitations/${invitation.id}`, { state: 'cancelled' }) }

  // Sessions

  get rooms() { return [...this.#rooms.values()].filter((room) => !this.#leaving.has(room.id)) }
  get room() {
    const { rooms } = this
    return rooms.find((room) => room.id === this.selected) ?? rooms[0]
  }

  async openSession() {
    const session = await this.gateway.post('/v1/sessions', { peer: this.peerID, resources: 'ask' })
    this.#made.add(session.id)
    this.select(session.id)
    return session
  }

  select(id) {
    this.selected = id
    keep({ session: id })
    this.changed()
  }

  /** Off the page at once, and gone from the gateway when it cannot be taken back any more. */
  async leave(room, title) {
    const { meeting } = this
    let instead = null
    this.#leaving.add(room.id)
    this.offerUndo(t('undo.left', { title }), {
      undo: async () => {
        this.#leaving.delete(room.id)
        this.select(room.id)
        if (this.meeting !== meeting) await this.meet(meeting)
        if (instead && !this.#rooms.get(instead.id)?.isUsed) await this.gateway.delete(`/v1/sessions/${instead.id}`)
      },
      finish: async (options) => {
        try {
          await this.gateway.delete(room.path, options)
        } catch (problem) {
          this.#leaving.delete(room.id)
          throw problem
        }
      },
    })
    // Another one takes the place of the last.
    if (this.rooms.length === 0) instead = await this.openSession()
    if (meeting === 'adhoc' && room.id === this.openID) await this.meet('ask')
  }

  #syncRooms() {
    const own = this.sessions.items.filter((session) => session.peer === this.me?.id)
    const wanted = new Set(own.map((session) => session.id))
    for (const [id, room] of this.#rooms) {
      if (wanted.has(id)) continue
      room.close()
      this.#rooms.delete(id)
      this.#leaving.delete(id)
    }
    for (const session of own) {
      this.#made.delete(session.id)
      const room = this.#rooms.get(session.id) ?? new Room(this, session.id)
      room.session = session
      this.#rooms.set(session.id, room)
    }
  }

  // Taking back

  /** For some seconds `undo` takes back what was done; after that, or before the next such thing, `finish` ends it. */
  offerUndo(text, { undo, finish = async () => {} }) {
    this.finish()
    this.undoable = { text, undo, finish, end: Date.now() + undoTime }
    this.changed()
  }

  async undo() {
    const { undo } = this.undoable
    this.undoable = null
    await undo()
    this.changed()
  }

  finish(options) {
    const { undoable } = this
    this.undoable = null
    if (undoable) this.attempt(() => undoable.finish(options))
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
    this.undoable = null
    // First: the page is at its entrance as soon as the WebSocket ends, which may be before the answer is here.
    forget()
    try {
      await this.gateway.deleteSelf()
    } catch (problem) {
      keep(kept)
      throw problem
    }
  }
}
