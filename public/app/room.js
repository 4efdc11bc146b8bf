// One session of this browser's peer, with all that is said in it, in the order in which it was said.

import { copyOf, newID } from '../client/id.js'
import { groupFiles } from './file-groups.js'
import { Timeline } from './timeline.js'
import { t } from './texts.js'
import { why } from './words.js'

const passingMax = 100
/** The size of the timeline: as many of the latest messages as a gateway sends to a page that is opened. */
const entriesMax = 10_000
/** The type of an unreliable message that says that its sender is typing; other programs do not show it. */
const typingType = 'application/vnd.vicinity.typing'
/** The interval between reports of typing, and the time for which one is valid, in milliseconds. */
const typingInterval = 3000
const typingTime = 6000
/** The members that are followed from the first on; more are while somebody scrolls to them, searches or asks for one. */
const membersMax = 100
/** The members that were asked for and are kept. */
const othersMax = 256
/** How long who was asked for is not asked for again, in milliseconds. */
const lookUpTime = 30_000
const happenings = ['connected', 'notConnected', 'undelivered']

export class Room {
  #timeline = new Timeline()
  /** Keys of unreliable messages, which the gateway does not keep: the last of them stay as long as the page is open. */
  #passing = []
  /** Until when each peer writes. */
  #typing = new Map()
  #typingToldAt = -Infinity
  #lastSeen
  #keeping = null
  #stops
  #people = { of: [] }
  /** The pages of members behind the first, and the page of those whose names have what is looked for. */
  #pages = []
  #matches = null
  #matched = { of: null }
  /** Those who are connected, where former members fill the first page. */
  #connectedPage = null
  /** Members that no page has, as they were when they were asked for, by peer, and the peers that were. */
  #others = new Map()
  #asked = new Set()

  constructor(home, id) {
    this.home = home
    this.id = id
    this.path = `/v1/sessions/${id}`
    this.session = null
    this.draft = ''
    /** The peer for whom what is said is meant; null for all. */
    this.recipient = null
    /** Its files by groups, in the order in which they were sent. */
    this.files = []
    this.#lastSeen = Number(sessionStorage.getItem(id) ?? 0)
    this.members = this.#follow(`members?limit=${membersMax}`)
    this.members.on('change', () => this.#followConnected())
    this.messages = this.#follow('messages', { limit: entriesMax })
    this.resources = this.#follow('resources')
    this.comparisons = this.#follow('comparisons')
    this.certificates = this.#follow('certificates')
    this.datagrams = home.gateway.datagrams(id)
    this.messages.on('put', ({ item }) => this.#said(item))
    this.messages.on('del', ({ item }) => this.#timeline.delete(item.id))
    this.resources.on('put', ({ item }) => home.transfers.update(item.id, item))
    this.resources.on('del', ({ item }) => home.transfers.update(item.id, null))
    this.resources.on('change', () => this.#groupFiles())
    this.datagrams.addEventListener('datagram', ({ message }) => this.#passed(message))
    const { outbox } = home.gateway
    this.#stops = [
      home.events.on('put', ({ item }) => this.#happened(item)),
      home.events.on('del', ({ item }) => this.#timeline.delete(eventKey(item))),
      outbox.on('change', () => this.#takeUnsent()),
      outbox.on('sent', ({ entry }) => this.#settle(entry.id, { isSent: true })),
      outbox.on('refused', ({ entry, problem }) => this.#settle(entry.id, { problem })),
    ]
    for (const event of home.events.items) this.#happened(event)
    this.#takeUnsent()
    addEventListener('pagehide', this.#keepSeen)
  }

  #follow(name, options) {
    const collection = this.home.gateway.follow(`${this.path}/${name}`, options)
    collection.onchange = () => this.home.changed()
    return collection
  }

  close() {
    this.#endPages()
    this.#connectedPage?.close()
    const { members, messages, resources, comparisons, certificates, datagrams } = this
    for (const collection of [members, messages, resources, comparisons, certificates, datagrams]) collection.close()
    for (const stop of this.#stops) stop()
    removeEventListener('pagehide', this.#keepSeen)
    clearTimeout(this.#keeping)
  }

  // People

  /** One entry a peer, which is a new member each time it comes back. The same array until somebody changes. */
  get people() { return this.#peopleNow().list }

  /** The member of this peer, where it is followed or was asked for. */
  known(peer) { return this.#peopleNow().byPeer.get(peer) ?? (this.isPartial ? this.#others.get(peer) : undefined) }

  /** The same; one that is not followed is asked for, and comes later. */
  standing(peer) {
    if (this.isPartial && !this.#peopleNow().byPeer.has(peer)) this.#lookUp(peer)
    return this.known(peer)
  }

  #followConnected() {
    const isHidden = this.isPartial && this.members.items.some(({ state }) => state === 'notConnected')
    if (isHidden === (this.#connectedPage !== null)) return
    this.#connectedPage?.close()
    this.#connectedPage = isHidden ? this.#follow(`members?limit=${membersMax}&state=connected`) : null
  }

  /** A page that the gateway refuses shows nobody. */
  get #followed() { return [this.members, ...[this.#connectedPage, ...this.#pages].filter((page) => page && page.state !== 'ended')] }

  #peopleNow() {
    const of = this.#followed.map(({ items }) => items)
    const before = this.#people
    if (before.others === this.#others && before.of.length === of.length && of.every((items, place) => items === before.of[place])) return before
    const list = onePerPeer(of.flat())
    const byPeer = new Map(list.map((member) => [member.peer, member]))
    this.#people = { of, others: this.#others, byPeer, list, connected: list.filter((member) => member.state === 'connected') }
    return this.#people
  }

  async #lookUp(peer) {
    if (this.#asked.has(peer)) return
    this.#asked.add(peer)
    setTimeout(() => this.#asked.delete(peer), lookUpTime)
    const { items } = await this.home.gateway.get(`${this.path}/members?peer=${peer}`).catch(() => ({ items: [] }))
    const [member] = onePerPeer(items)
    if (!member) return
    this.#others.delete(peer)
    this.#others = new Map([...[...this.#others].slice(1 - othersMax), [peer, member]])
    this.home.changed()
  }

  get connected() { return this.#peopleNow().connected }
  get connectedCount() { return this.isPartial ? this.members.counts.connected : this.connected.length }

  /** Whether there are more members than are followed. */
  get isPartial() {
    return this.#lastPage.next !== undefined || (this.#pages.length > 0 && ['waiting', 'ended'].includes(this.#lastPage.state))
  }

  get #lastPage() { return this.#pages.at(-1) ?? this.members }

  /** Follows the next members, too. */
  showMore() {
    const { next, state } = this.#lastPage
    if (this.#matches || next === undefined || state !== 'live') return
    const page = this.#follow(`members?limit=${membersMax}&after=${next}`)
    page.on('change', () => this.#followConnected())
    this.#pages.push(page)
  }

  /** Follows the members whose names have this text; all again, if it is empty. */
  search(text) {
    this.#matches?.close()
    this.#matches = text ? this.#follow(`members?limit=${membersMax}&name=${encodeURIComponent(text)}`) : null
    this.home.changed()
  }

  /** The people that were looked for, or all. */
  get listed() {
    if (!this.#matches) return this.people
    const { items } = this.#matches
    if (this.#matched.of !== items) this.#matched = { of: items, list: onePerPeer(items) }
    return this.#matched.list
  }

  get listedCount() { return this.#matches || !this.isPartial ? this.listed.length : this.members.counts.all }

  /** Follows the first members alone. */
  closePages() {
    this.#endPages()
    this.#followConnected()
  }

  #endPages() {
    for (const page of this.#pages) page.close()
    this.#pages = []
    this.#matches?.close()
    this.#matches = null
  }

  /** A member that is followed. */
  member(id) { return [...this.#followed, this.#matches].map((page) => page?.get(id)).find(Boolean) }

  /** All who are connected, of whom most may not be followed. */
  async everyone() {
    if (!this.isPartial) return this.connected
    const all = []
    for await (const member of this.home.gateway.list(`${this.path}/members?state=connected`, { limit: 1000 })) all.push(member)
    return all
  }

  /** The names of those who are in it. */
  get present() {
    return this.people.filter((member) => member.state !== 'notConnected').map((member) => member.displayName)
  }

  /** Those who were in it and are not any more; of some only what they said or sent is left. */
  get absent() {
    const byPeer = new Map()
    for (const { from, displayName } of this.messages.items) {
      if (from !== this.session?.peer) byPeer.set(from, { displayName })
    }
    for (const { from, to, displayName } of this.resources.items) byPeer.set(from ?? to, { displayName })
    for (const member of this.people) byPeer.set(member.peer, member)
    return [...byPeer.values()].filter((one) => one.state === undefined || one.state === 'notConnected')
  }

  /** Whether somebody was in it, or something is. */
  get isUsed() { return this.members.items.length + this.messages.items.length + this.resources.items.length > 0 }

  // Messages

  /** It waits in the outbox until the gateway has it, also while that is away, and over a reload. */
  send(text) {
    this.#typingToldAt = -Infinity
    this.#post({ id: newID(), body: text, to: this.recipient ? [this.recipient] : [], at: new Date().toISOString() })
  }

  again(id) { this.#post(this.#timeline.get(id)) }

  discard(id) {
    this.#timeline.delete(id)
    this.home.gateway.outbox.discard(id)
    this.home.changed()
  }

  #post({ id, body, to, at }) {
    this.#timeline.put(unsent({ id, body, to, at }))
    this.home.gateway.outbox.add({ id, session: this.id, body, to, contentType: 'text/plain; charset=utf-8' })
      .catch((problem) => this.#settle(id, { problem }))
    this.home.changed()
  }

  /** The messages in the outbox, those from before a reload included. */
  #takeUnsent() {
    for (const entry of this.home.gateway.outbox.items) {
      if (entry.session === this.id && !this.#timeline.get(entry.id)) this.#timeline.put(unsent(entry))
    }
    this.home.changed()
  }

  /** The result of a message that the list does not have yet. */
  #settle(id, outcome) {
    const entry = this.#timeline.get(id)
    if (entry?.time !== Infinity) return
    this.#timeline.put({ ...entry, ...outcome })
    this.home.changed()
  }

  // Events

  /** Messages, files, and who came and went. */
  get timeline() { return this.#timeline.entries }
  /** Differs after each change of the timeline. */
  get version() { return this.#timeline.version }

  #said(message) {
    this.#typing.delete(message.from)
    this.#timeline.put(Object.assign(copyOf(message), {
      kind: 'message', key: message.id, time: Date.parse(message.at), isMine: message.from === this.session?.peer, isSent: true,
    }))
    while (this.timeline.length > entriesMax) this.#timeline.delete(this.timeline[0].key)
  }

  #passed(message) {
    if (message.contentType === typingType) {
      if (message.from !== this.session?.peer) this.#typing.set(message.from, performance.now() + typingTime)
    } else {
      this.#said(message)
      this.#passing.push(message.id)
      if (this.#passing.length > passingMax) this.#timeline.delete(this.#passing.shift())
    }
    this.home.changed()
  }

  #groupFiles() {
    const before = new Set(this.files.map(({ key }) => key))
    this.files = groupFiles(this.resources.items)
    for (const group of this.files) {
      before.delete(group.key)
      this.#timeline.put(group)
    }
    for (const key of before) this.#timeline.delete(key)
  }

  #happened(event) {
    if (!happenings.includes(event.event) || !event.about.startsWith(`${this.path}/members/`)) return
    this.#timeline.put({ kind: 'note', key: eventKey(event), at: event.at, time: Date.parse(event.at), event })
  }

  /** An event as a sentence. */
  happening(event) {
    const member = this.member(event.about.slice(event.about.lastIndexOf('/') + 1))
    const isLost = event.event === 'notConnected' && event.reason !== 'left' && event.reason !== 'none'
    const isInvitee = event.about.endsWith(`/${member?.peer}`)
    const key = !isLost ? event.event : isInvitee ? 'didNotJoin' : 'lost'
    return t(`happening.${key}`, { name: event.displayName, detail: why(member ?? event) })
  }

  // Typing

  /** Says to others that this person writes, at most every few seconds; it may get lost. */
  tellTyping() {
    const now = performance.now()
    if (now - this.#typingToldAt < typingInterval || this.connectedCount === 0) return
    this.#typingToldAt = now
    const to = this.recipient ? [this.recipient] : []
    this.home.gateway.send(this.id, 'typing', { to, mode: 'unreliable', contentType: typingType }).catch(() => {})
  }

  /** The names of those who write now. */
  get typing() {
    const now = performance.now()
    for (const [peer, end] of this.#typing) if (end < now) this.#typing.delete(peer)
    return [...this.#typing.keys()].map((peer) => this.standing(peer)).filter((member) => member?.state === 'connected')
      .map((member) => member.displayName)
  }

  // Unread

  /** The number of messages of others since the session was last seen. */
  get unread() {
    const { entries } = this.#timeline
    let count = 0
    for (let place = entries.length - 1; place >= 0 && entries[place].time > this.#lastSeen; place -= 1) {
      if (!entries[place].isMine && entries[place].kind !== 'note') count += 1
    }
    return count
  }

  #keepSeen = () => {
    clearTimeout(this.#keeping)
    this.#keeping = null
    sessionStorage.setItem(this.id, this.#lastSeen)
  }

  see() {
    const time = this.#timeline.entries.findLast((entry) => entry.kind !== 'note' && entry.time !== Infinity)?.time ?? 0
    if (time <= this.#lastSeen) return
    this.#lastSeen = time
    // While messages rush by, once a second is enough.
    this.#keeping ??= setTimeout(() => this.#keepSeen(), keepInterval)
  }
}

const keepInterval = 1000

/** A peer is a new member each time it comes back: the one that is there counts. */
function onePerPeer(members) {
  const byPeer = new Map()
  for (const member of members) {
    const other = byPeer.get(member.peer)
    if (!other || other.state === 'notConnected' || member.state === 'connected') byPeer.set(member.peer, member)
  }
  return [...byPeer.values()]
}

const eventKey = ({ id }) => `event ${id}`

/** The entry of a message that the gateway does not have yet. */
const unsent = ({ id, body, to, at }) =>
  ({ kind: 'message', key: id, id, body, to, at, time: Infinity, isMine: true, isSent: false, problem: null })
