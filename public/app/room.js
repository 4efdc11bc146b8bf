// One session of this browser's peer, with all that is said in it, in the order in which it was said.

import { copyOf, newID } from '../client/id.js'
import { groupFiles } from './file-groups.js'
import { Timeline } from './timeline.js'
import { t } from './texts.js'

const passingMax = 100
/** The size of the timeline: as many of the latest messages as a gateway sends to a page that is opened. */
const entriesMax = 10_000
/** The type of an unreliable message that says that its sender is typing; other programs do not show it. */
const typingType = 'application/vnd.vicinity.typing'
/** The interval between reports of typing, and the time for which one is valid, in milliseconds. */
const typingInterval = 3000
const typingTime = 6000
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
  #people = { of: null }

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
    const follow = (name, options) => {
      const collection = home.gateway.follow(`${this.path}/${name}`, options)
      collection.onchange = () => home.changed()
      return collection
    }
    this.members = follow('members')
    this.messages = follow('messages', { limit: entriesMax })
    this.resources = follow('resources')
    this.comparisons = follow('comparisons')
    this.certificates = follow('certificates')
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

  close() {
    const { members, messages, resources, comparisons, certificates, datagrams } = this
    for (const collection of [members, messages, resources, comparisons, certificates, datagrams]) collection.close()
    for (const stop of this.#stops) stop()
    removeEventListener('pagehide', this.#keepSeen)
    clearTimeout(this.#keeping)
  }

  // People

  /** One entry a peer, which is a new member each time it comes back. The same array until somebody changes. */
  get people() { return this.#peopleNow().list }

  standing(peer) { return this.#peopleNow().byPeer.get(peer) }

  #peopleNow() {
    const { items } = this.members
    if (this.#people.of === items) return this.#people
    const byPeer = new Map()
    for (const member of items) {
      const other = byPeer.get(member.peer)
      if (!other || other.state === 'notConnected' || member.state === 'connected') byPeer.set(member.peer, member)
    }
    const list = [...byPeer.values()]
    this.#people = { of: items, byPeer, list, connected: list.filter((member) => member.state === 'connected') }
    return this.#people
  }

  get connected() { return this.#peopleNow().connected }

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
    const member = this.members.get(event.about.slice(event.about.lastIndexOf('/') + 1))
    const isLost = event.event === 'notConnected' && event.reason !== 'left' && event.reason !== 'none'
    const isInvitee = event.about.endsWith(`/${member?.peer}`)
    const key = !isLost ? event.event : isInvitee ? 'didNotJoin' : 'lost'
    return t(`happening.${key}`, { name: event.displayName, detail: member?.detail ?? event.reason ?? '' })
  }

  // Typing

  /** Says to others that this person writes, at most every few seconds; it may get lost. */
  tellTyping() {
    const now = performance.now()
    if (now - this.#typingToldAt < typingInterval || this.connected.length === 0) return
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
const eventKey = ({ id }) => `event ${id}`

/** The entry of a message that the gateway does not have yet. */
const unsent = ({ id, body, to, at }) =>
  ({ kind: 'message', key: id, id, body, to, at, time: Infinity, isMine: true, isSent: false, problem: null })
