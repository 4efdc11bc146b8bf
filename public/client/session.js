// A session: its members, messages, streams and resources.

import { SessionClock } from './clock.js'
import { ContentUpload, interrupted, update } from './content-upload.js'
import { emit, Emitter, finish, listened } from './emitter.js'
import { newID, peerID } from './id.js'
import { encode, Message } from './message.js'
import { problem } from './problem.js'
import { Resource } from './resource.js'
import { Stream } from './stream.js'

/** The list that each event comes from. */
const lists = {
  message: 'messages', gap: 'messages', datagram: 'datagrams', member: 'members', stream: 'streams',
  resource: 'resources', end: 'members',
}
/** The messages that are shown: as many as the gateway sends at once. */
const messagesMax = 10_000
/** Messages that are known not to be new. */
const seenMax = 2 * messagesMax

export class Session extends Emitter {
  #gateway
  #collections = new Map()
  #seen = new Set()
  #resources = new Map()
  #streams = new Set()
  /** The lists whose initial items have been given to the listeners. */
  #isCaughtUp = new Set()
  #isNew
  #since

  constructor(gateway, item, { isNew = false, since } = {}) {
    super()
    this.#gateway = gateway
    this.#isNew = isNew
    this.#since = since
    this.id = item.id
    /** The peer whose end of the session this is. */
    this.peer = item.peer
    this.path = `/v1/sessions/${item.id}`
  }

  // Collections

  get members() { return this.#follow('members') }
  get messages() { return this.#follow('messages') }
  get streams() { return this.#follow('streams') }
  get resources() { return this.#follow('resources') }
  /** The connected members, to whom the messages of the session go. */
  get connected() { return this.members.items.filter((member) => member.state === 'connected') }
  /** Messages that the gateway does not have yet. */
  get pending() { return this.#gateway.outbox.items.filter((entry) => entry.session === this.id) }
  /** To go on from here with `gateway.session(id, { since })`, without missing a message or telling one twice. */
  get position() { return this.messages.position }

  /** The member, once it is connected; without a peer, the first one. */
  whenConnected(peer, { signal } = {}) {
    const id = peer && peerID(peer)
    const find = () => this.connected.find((member) => !id || member.peer === id)
    return new Promise((resolve, reject) => {
      const stop = new AbortController()
      const settle = (how, value) => {
        stop.abort()
        how(value)
      }
      const look = () => find() && settle(resolve, find())
      this.on('member', look, stop)
      this.on('end', (error) => settle(reject, error ?? ended()), stop)
      signal?.addEventListener('abort', () => settle(reject, signal.reason), stop)
      if (signal?.aborted) settle(reject, signal.reason)
      look()
    })
  }

  // Sending

  /**
   * Sends text, bytes, a Blob or a value as JSON, to all who are connected or to those named. A reliable message waits
   * in the outbox until the gateway has it, and is sent exactly once; fulfilled then. An unreliable one goes out now, or
   * never.
   */
  async send(content, { to = [], reliable = true, type, id = newID() } = {}) {
    const recipients = [to].flat().map(peerID)
    const { body, contentType } = await encode(content, type)
    const item = reliable
      ? await this.#gateway.outbox.add({ id, session: this.id, body, to: recipients, contentType })
      : await this.#gateway.send(this.id, body, { to: recipients, mode: 'unreliable', contentType })
    return new Message(item)
  }

  /** Opens a stream to a member; write to its `writable`. */
  async openStream(name, to) {
    const item = await this.#gateway.post(`${this.path}/streams`, { name, to: peerID(to) })
    return new Stream(this.#gateway, this.id, item)
  }

  /**
   * Sends a Blob, or what is at a web address, to a member; to a list of them, or to all who are connected, it is uploaded
   * once, and a list of resources is returned. If a reload has interrupted the same to the same members, or to all who were
   * connected then, this goes on from there, unless `resume` is false.
   */
  async sendResource(content, { to, name = content.name, type = content.type, resume = true } = {}) {
    const isBlob = content instanceof Blob
    const recipients = Array.isArray(to) ? to.map(peerID) : to && peerID(to)
    const known = isBlob && resume
      ? await interrupted(this.#gateway, this.id, { to: to && [recipients].flat(), name, content }) : null
    const items = known?.items ?? await this.#offer({
      to: recipients, name, contentType: type || 'application/octet-stream',
      ...isBlob ? { size: content.size } : { url: `${content}` },
    })
    const resources = items.map((item) => this.#resource(item))
    // Their states come by the list.
    this.#follow('resources')
    if (isBlob) new ContentUpload(this.#gateway, this.id, resources, content, { digest: known?.digest, toAll: !to })
    return typeof recipients === 'string' ? resources[0] : resources
  }

  async #offer(request) {
    const { resources, ...item } = await this.#gateway.post(`${this.path}/resources`, request)
    return resources ?? [item]
  }

  // Members

  /** Lets nobody else in, or does so again. */
  lock(isLocked = true) { return this.#gateway.patch(this.path, { locked: isLocked }) }

  /** Removes a member, who may come back unless it is banned. */
  remove(member, { ban = false } = {}) {
    return this.#gateway.delete(`${this.path}/members/${member.id}${ban ? '?ban=true' : ''}`)
  }

  /** The clock that all members share, once it has been read; close it when it is not needed any more. */
  clock() {
    if (this.#gateway.state === 'idle') this.#gateway.connect()
    return new SessionClock(this.#gateway, this).start()
  }

  async leave() {
    await this.#gateway.delete(this.path)
    this.close()
  }

  /** Follows it no more; the peer stays in it. */
  close() {
    for (const collection of this.#collections.values()) collection.close()
    this.#collections.clear()
    finish(this)
  }

  // Subscriptions begin with the first who wants to know.

  [listened](type) {
    if (lists[type]) this.#follow(lists[type])
  }

  #follow(name) {
    const known = this.#collections.get(name)
    if (known) return known
    const isLog = name === 'messages'
    const collection = this.#gateway.follow(
      `${this.path}/${name}`, isLog ? { limit: messagesMax, since: this.#since } : {})
    this.#collections.set(name, collection)
    if (this.#isNew || (isLog && this.#since)) this.#isCaughtUp.add(name)
    const take = {
      members: ({ item }) => emit(this, 'member', item),
      messages: ({ item }) => this.#said(item),
      streams: ({ item }) => this.#streamed(item),
      resources: ({ item }) => this.#offered(item),
    }[name]
    if (take) collection.on('put', take)
    let hasBegun = false
    collection.on('change', () => {
      hasBegun = true
      this.#isCaughtUp.add(name)
    })
    collection.on('datagram', (item) => item.from !== this.peer && emit(this, 'datagram', new Message(item)))
    collection.on('del', ({ item }) => {
      if (name === 'resources') this.#resources.get(item.id)?.[update](null)
      for (const known of [this.#resources, this.#streams]) known.delete(item.id)
    })
    const kind = { messages: 'message', datagrams: 'datagram' }[name]
    if (kind) {
      collection.on('gap', ({ missed }) => {
        // The program may have seen the earlier ones or not.
        if (!hasBegun) this.#isCaughtUp.delete(name)
        emit(this, 'gap', { type: kind, missed })
      })
    }
    collection.on('end', (error) => this.#collections.get(name) === collection && finish(this, error))
    return collection
  }

  #said(item) {
    if (this.#seen.has(item.id)) return
    this.#seen.add(item.id)
    if (this.#seen.size > seenMax) this.#seen.delete(this.#seen.values().next().value)
    if (this.#isCaughtUp.has('messages') && item.from !== this.peer) emit(this, 'message', new Message(item))
  }

  #streamed(item) {
    if (item.direction !== 'incoming' || this.#streams.has(item.id)) return
    this.#streams.add(item.id)
    if (item.state === 'open') emit(this, 'stream', new Stream(this.#gateway, this.id, item))
  }

  #offered(item) {
    const isKnown = this.#resources.has(item.id)
    const resource = this.#resource(item)
    if (isKnown || item.direction !== 'incoming') return
    if (!resource.isOver || this.#isCaughtUp.has('resources')) emit(this, 'resource', resource)
  }

  #resource(item) {
    const known = this.#resources.get(item.id)
    if (known) {
      known[update](item)
      return known
    }
    const resource = new Resource(this.#gateway, this.id, item)
    this.#resources.set(item.id, resource)
    return resource
  }
}

const ended = () => problem('notConnected', 'The session has ended', 'This peer is not in the session any more.')

const sessions = new WeakMap()

/** The one object of a session for a gateway. */
export function sessionOf(gateway, item, options) {
  const known = sessions.get(gateway) ?? new Map()
  sessions.set(gateway, known)
  if (known.has(item.id)) return known.get(item.id)
  const session = new Session(gateway, item, options)
  known.set(item.id, session)
  session.on('end', () => known.delete(item.id))
  return session
}
