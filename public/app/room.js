// One session of this browser's peer, with all that is said in it, in the order in which it was said.

import { newID } from '../client/id.js'
import { t } from './texts.js'

const passingMax = 100

export class Room {
  /** Messages that the gateway does not have yet. */
  #unsent = new Map()
  /** Unreliable messages, which the gateway does not keep: the last of them, as long as the page is open. */
  #passing = []
  #lastSeen = 0
  #timeline = null
  /** The events that are in it. */
  #timelineEvents = null
  #entries = new WeakMap()

  constructor(home, id) {
    this.home = home
    this.id = id
    this.path = `/v1/sessions/${id}`
    this.session = null
    this.draft = ''
    /** The peer for whom what is said is meant; null for all. */
    this.recipient = null
    const follow = (name) => {
      const collection = home.gateway.follow(`${this.path}/${name}`)
      collection.onchange = () => this.#changed()
      return collection
    }
    this.members = follow('members')
    this.messages = follow('messages')
    this.resources = follow('resources')
    this.comparisons = follow('comparisons')
    this.certificates = follow('certificates')
    this.datagrams = home.gateway.datagrams(id)
    this.datagrams.addEventListener('datagram', ({ message }) => {
      this.#passing = [...this.#passing, message].slice(-passingMax)
      this.#changed()
    })
  }

  close() {
    const { members, messages, resources, comparisons, certificates, datagrams } = this
    for (const collection of [members, messages, resources, comparisons, certificates, datagrams]) collection.close()
  }

  /** One for each peer: whoever came back is a new member of the same peer. */
  get people() {
    const byPeer = new Map()
    for (const member of this.members.items) {
      const other = byPeer.get(member.peer)
      if (!other || other.state === 'notConnected' || member.state === 'connected') byPeer.set(member.peer, member)
    }
    return [...byPeer.values()]
  }

  get connected() { return this.people.filter((member) => member.state === 'connected') }

  standing(peer) { return this.people.find((member) => member.peer === peer) }

  /** The names of those who are in it. */
  get present() {
    return this.people.filter((member) => member.state !== 'notConnected').map((member) => member.displayName)
  }

  /** Those who were in it and are not any more; of some only what they said or sent is left. */
  get absent() {
    const { people } = this
    const byPeer = new Map()
    for (const { from, displayName } of this.messages.items) {
      if (from !== this.session?.peer) byPeer.set(from, { displayName })
    }
    for (const { from, to, displayName } of this.resources.items) byPeer.set(from ?? to, { displayName })
    for (const member of people) byPeer.set(member.peer, member)
    return [...byPeer.values()].filter((one) => one.state === undefined || one.state === 'notConnected')
  }

  /** Whether somebody was in it, or something is. */
  get isUsed() { return this.members.items.length + this.messages.items.length + this.resources.items.length > 0 }

  // Messages

  async send(text, id = newID()) {
    const to = this.recipient ? [this.recipient] : []
    this.#unsent.set(id, { id, body: text, to, at: new Date().toISOString(), problem: null })
    await this.#post(id)
  }

  again(id) { return this.#post(id) }

  discard(id) {
    this.#unsent.delete(id)
    this.#changed()
  }

  async #post(id) {
    const message = this.#unsent.get(id)
    message.problem = null
    this.#changed()
    try {
      await this.home.gateway.send(this.id, message.body, { id, to: message.to })
      message.isSent = true
    } catch (problem) {
      message.problem = problem
    }
    this.#changed()
  }

  // What happened

  /** Messages, files, and who came and went; made anew only after something has changed. */
  get timeline() {
    if (!this.#timeline || this.#timelineEvents !== this.home.events.items) this.#timeline = this.#makeTimeline()
    return this.#timeline
  }

  #makeTimeline() {
    this.#timelineEvents = this.home.events.items
    const entries = [...this.#happenings(), ...this.files, ...this.#said()]
    entries.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
    for (const message of this.#unsent.values()) {
      if (!this.messages.get(message.id)) entries.push({ kind: 'message', key: message.id, isMine: true, ...message })
      else if (message.isSent) this.#unsent.delete(message.id)
    }
    return entries
  }

  #changed() {
    this.#timeline = null
    this.home.changed()
  }

  #said() {
    return [...this.messages.items, ...this.#passing].map((message) => this.#entry(message, () => ({
      kind: 'message', key: message.id, isMine: message.from === this.session?.peer, isSent: true, ...message,
    })))
  }

  /** As entries, in the order in which they were sent. */
  get files() {
    return this.resources.items.map((resource) => this.#entry(resource, () => ({
      kind: 'file', key: resource.id, at: resource.createdAt, isMine: resource.direction === 'outgoing', resource,
    })))
  }

  /** The entry of a thing that did not change is the one that it was. */
  #entry(thing, make) {
    let entry = this.#entries.get(thing)
    if (!entry) this.#entries.set(thing, (entry = make()))
    return entry
  }

  #happenings() {
    const place = `${this.path}/members/`
    const told = ['connected', 'notConnected', 'undelivered']
    return this.home.events.items.filter((one) => told.includes(one.event) && one.about.startsWith(place)).map((one) => {
      const member = this.members.get(one.about.slice(place.length))
      const isLost = one.event === 'notConnected' && one.reason !== 'left' && one.reason !== 'none'
      const isInvitee = one.about.endsWith(`/${member?.peer}`)
      const key = !isLost ? one.event : isInvitee ? 'didNotJoin' : 'lost'
      const text = t(`happening.${key}`, { name: one.displayName, detail: member?.detail ?? one.reason ?? '' })
      return { kind: 'note', key: `event ${one.id}`, at: one.at, text }
    })
  }

  // What is new

  /** What others have said since it was looked at. */
  get unread() {
    const { timeline, lastSeen } = this
    let count = 0
    for (let place = timeline.length - 1; place >= 0; place -= 1) {
      const entry = timeline[place]
      if (Date.parse(entry.at) <= lastSeen) break
      if (!entry.isMine && entry.kind !== 'note') count += 1
    }
    return count
  }

  get lastSeen() { return Math.max(this.#lastSeen, Number(sessionStorage.getItem(this.id) ?? 0)) }

  see() {
    const last = this.timeline.findLast((entry) => entry.kind !== 'note')
    const at = last ? Date.parse(last.at) : 0
    if (at <= this.lastSeen) return
    this.#lastSeen = at
    sessionStorage.setItem(this.id, at)
  }
}
