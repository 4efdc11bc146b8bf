// Long because it stands alone: a program takes this one file.
//
// The JavaScript client of a Vicinity gateway: REST, live collections over one WebSocket, uploads that resume.
//
//     import { Vicinity } from './vicinity.js'
//
//     const gateway = new Vicinity('http://127.0.0.1:7777')
//     await gateway.pair('ABCD-EFGH', { name: 'stage lights' })
//     const peer = await gateway.post('/v1/peers', { displayName: 'Lights' })
//     const session = await gateway.post('/v1/sessions', { peer: peer.id, adhoc: 'stage' })
//     const messages = gateway.follow(`/v1/sessions/${session.id}/messages`)
//     messages.onchange = () => {
//       const message = messages.items.at(-1)
//       if (message) console.log(`${message.displayName}: ${message.body}`)
//     }
//
// It runs in browsers and, as an ES module, in Node. Node before version 22 has no WebSocket: pass one, as the package `ws`
// has it, to the constructor: `new Vicinity(address, { WebSocket })`. Requests work without it.

const retryDelayMin = 500
const retryDelayMax = 10_000
/** How often the gateway is asked whether it is there, and how long it may take to say so. */
const heartbeatInterval = 20_000
const heartbeatTime = 10_000
/** From the first packet of a WebSocket to the gateway's answer to 'connect': some platforms tell nothing of a refusal. */
const openingTime = 15_000
/** A request that nobody heard is made so often; each can be made twice without harm. */
const attemptsMax = 3
const uploadAttemptsMax = 20
const pieceBytesMin = 256 * 1024
const pieceBytesMax = 8 * 1024 * 1024

/** What the gateway, or the way to it, has against a request. Its message is a sentence that says what to do. */
export class Problem extends Error {
  constructor(problem, headers) {
    super(problem.detail ?? problem.title ?? 'The gateway answered in a way that nobody understands.')
    this.name = 'Problem'
    /** Such as 'notConnected'; 'offline' where no answer came at all. */
    this.kind = (problem.type ?? '').split('/').pop() || 'unknown'
    this.title = problem.title
    this.status = problem.status ?? 0
    /** The part of the request that is wrong, the rule that it breaks, and the rule's limit, where they are known. */
    this.field = problem.field
    this.rule = problem.rule
    this.limit = problem.limit
    /** Why it is 'unavailable', where there is a name for that: 'queueFull' while a member is behind. */
    this.reason = problem.reason
    /** Seconds after which it is worth trying again. */
    this.retryAfter = problem.retryAfter
    this.headers = headers
  }

  static offline(detail = 'The gateway does not answer: it may have stopped, or the network between is down.') {
    return new Problem({ type: '/problems/offline', title: 'No answer', detail })
  }
}

/** Of the gateway that served this file. */
const ownAddress = /^https?:/.test(import.meta.url) ? new URL('.', import.meta.url).href : undefined

/** An id that nobody else makes. */
export function newID() {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
  const bytes = new Uint8Array(20)
  // Node 18 has no global `crypto`; an id has to be unique, and need not be secret.
  const random = globalThis.crypto?.getRandomValues(bytes) ?? bytes.map(() => Math.random() * 256)
  return Array.from(random, (byte) => alphabet[byte & 31]).join('')
}

const pause = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    }, { once: true })
  })

/** A gateway, as one client sees it. It tells of `state` by an event of that name. */
export class Vicinity extends EventTarget {
  #socket = null
  #isWanted = false
  #attempt = 0
  #retry = null
  #opening = null
  #heartbeat = null
  #lastID = 0
  #answers = new Map()
  #channels = new Map()
  #byNumber = new Map()
  #WebSocket

  /**
   * `address` is where the gateway is, with its base path if it has one; without it, where this file came from. `token` is
   * what pairing gives to programs, `csrf` what it gives to a page, whose browser keeps a cookie. `WebSocket` is the class
   * to follow collections with, where the platform has none.
   */
  constructor(address = ownAddress, { token, csrf, WebSocket = globalThis.WebSocket } = {}) {
    super()
    this.address = address.replace(/\/$/, '')
    this.token = token
    this.csrf = csrf
    this.#WebSocket = WebSocket
    /** Of the WebSocket: 'idle', 'connecting', 'online', 'waiting' to try again after `problem`, 'refused' for it. */
    this.state = 'idle'
    this.problem = null
    globalThis.addEventListener?.('online', () => this.#hurry())
    globalThis.document?.addEventListener('visibilitychange', () => document.hidden || this.#hurry())
  }

  // Pairing

  /** Spends a pairing code. A page asks for a cookie; a program gets a token, which it should keep. */
  async pair(code, { name, cookie = false } = {}) {
    const client = await this.post('/v1/pairings', { code, name, cookie })
    this.token = client.token
    this.csrf = client.csrf
    if (this.#isWanted) this.#open()
    return client
  }

  /** Where all that the gateway keeps of this client is to be had, as lines of JSON: for a link that saves it. */
  get exportAddress() { return `${this.address}/v1/clients/self/export` }

  /** Deletes all that the gateway keeps of this client, which must pair anew to come back. */
  async deleteSelf() {
    try {
      await this.delete('/v1/clients/self')
    } catch (problem) {
      // It was heard the first time, and its answer was lost.
      if (problem.status !== 401) throw problem
    }
  }

  // REST

  get(path, options) { return this.request('GET', path, options) }
  post(path, json, options) { return this.request('POST', path, { json: json ?? {}, ...options }) }
  put(path, json, options) { return this.request('PUT', path, { json, ...options }) }
  patch(path, json, options) { return this.request('PATCH', path, { json, ...options }) }
  delete(path, options) { return this.request('DELETE', path, options) }

  /** The JSON of the answer, or null where it has none; what goes wrong is thrown as a `Problem`. */
  async request(method, path, options = {}) {
    const response = await this.fetch(method, path, options)
    if (response.status === 204 || response.status === 304) return null
    const type = response.headers.get('Content-Type') ?? ''
    return /[/+]json/.test(type) ? response.json() : response.text()
  }

  /** The answer itself, as for a download. A request that nobody heard is made again, unless it is a PATCH. */
  async fetch(method, path, { json, body, headers = {}, signal, keepalive } = {}) {
    const all = { ...headers }
    if (json !== undefined) all['Content-Type'] = 'application/json'
    if (this.token) all.Authorization = `Bearer ${this.token}`
    if (this.csrf && method !== 'GET' && method !== 'HEAD') all['X-Vicinity-CSRF'] = this.csrf
    if (method === 'POST') all['Idempotency-Key'] ??= newID()
    const request = { method, headers: all, body: json === undefined ? body : JSON.stringify(json), signal, keepalive }
    for (let attempt = 1; ; attempt += 1) {
      let response
      try {
        response = await fetch(this.address + path, { credentials: 'same-origin', cache: 'no-store', ...request })
      } catch (error) {
        if (signal?.aborted) throw error
        if (method === 'PATCH' || attempt === attemptsMax) throw Problem.offline()
        await pause(retryDelayMin * attempt, signal)
        continue
      }
      if (response.ok || response.status === 304) return response
      const problem = await response.json().catch(() => ({}))
      throw new Problem({ status: response.status, title: response.statusText, ...problem }, response.headers)
    }
  }

  // Messages and files

  /**
   * Sends text or bytes to those who are named, or to all who are connected. A reliable message is sent once, however
   * often the network loses the request: its id says which one it is. Who receives it is told the content type.
   */
  send(session, body, { to = [], mode = 'reliable', contentType = 'text/plain; charset=utf-8', id = newID() } = {}) {
    const query = new URLSearchParams(to.map((peer) => ['to', peer]))
    if (mode !== 'reliable') query.append('mode', mode)
    const [method, place] = mode === 'reliable' ? ['PUT', `/${id}`] : ['POST', '']
    const path = `/v1/sessions/${session}/messages${place}`
    return this.request(method, query.size ? `${path}?${query}` : path, {
      body, headers: { 'Content-Type': contentType },
    })
  }

  /** Offers a Blob to a member. It ends when the gateway has all of it; what follows, the resource's state says. */
  async upload(session, blob, { to, name = blob.name, contentType = blob.type, onstart, onprogress, signal } = {}) {
    const resource = await this.post(
      `/v1/sessions/${session}/resources`,
      { to, name, size: blob.size, contentType: contentType || 'application/octet-stream' }, { signal })
    onstart?.(resource)
    await this.uploadContent(`/v1/sessions/${session}/resources/${resource.id}`, blob, { onprogress, signal })
    return resource
  }

  /** Uploads the content of a resource, from where the gateway is. */
  async uploadContent(path, blob, { offset = 0, onprogress, signal } = {}) {
    let pieceBytes = pieceBytesMin
    let failures = 0
    for (let isWhole = false; !isWhole;) {
      onprogress?.(offset, blob.size)
      const piece = blob.slice(offset, offset + pieceBytes)
      isWhole = offset + piece.size >= blob.size
      const start = performance.now()
      try {
        await this.fetch('PATCH', `${path}/content`, {
          body: piece, signal,
          headers: { 'Upload-Offset': `${offset}`, 'Upload-Complete': isWhole ? '?1' : '?0' },
        })
        offset += piece.size
        failures = 0
        const isQuick = performance.now() - start < 250
        pieceBytes = Math.min(pieceBytesMax, Math.max(pieceBytesMin, isQuick ? pieceBytes * 2 : pieceBytes / 2))
      } catch (problem) {
        failures += 1
        if (signal?.aborted || !isPassing(problem) || failures > uploadAttemptsMax) throw problem
        await pause(Math.min(retryDelayMax, retryDelayMin * failures), signal)
        offset = await this.#uploaded(path, offset)
        if (offset === null) return
        isWhole = false
      }
    }
    onprogress?.(blob.size, blob.size)
  }

  /** How much of a content is at the gateway; null where that has it all. */
  async #uploaded(path, otherwise) {
    const resource = await this.get(path).catch((problem) => {
      if (isPassing(problem)) return { state: 'unknown' }
      throw problem
    })
    if (resource.state === 'unknown') return otherwise
    return resource.state === 'uploading' ? resource.uploaded : null
  }

  // Live collections

  /**
   * The unreliable messages of a session, which are not kept: each is an event, `datagram`, and its `message`. Where this
   * client is too slow for some of them, `dropped` counts these.
   */
  datagrams(session) { return this.follow(`/v1/sessions/${session}/datagrams`) }

  /**
   * A collection and its changes, such as '/v1/sessions/…/messages'; close it when it is not needed any more. Each call
   * gives a collection with listeners of its own; those of one path share one subscription, which ends with the last.
   */
  follow(path) {
    this.#requireWebSocket()
    let channel = this.#channels.get(path)
    if (!channel) {
      channel = new Channel(path, () => this.#unfollow(channel))
      this.#channels.set(path, channel)
      if (this.state === 'online') this.#subscribe(channel)
    }
    const collection = channel.addFollower()
    if (this.state === 'idle') this.connect()
    return collection
  }

  /** Opens the WebSocket and keeps it open. */
  connect() {
    this.#requireWebSocket()
    this.#isWanted = true
    if (!this.#socket) this.#open()
  }

  close() {
    this.#isWanted = false
    clearTimeout(this.#retry)
    this.#socket?.close(1000)
    this.#lost(null)
    this.#become('idle')
  }

  #requireWebSocket() {
    if (this.#WebSocket) return
    throw new Problem({
      type: '/problems/unsupported', title: 'No WebSocket',
      detail: 'This platform has no WebSocket, as Node before version 22 has none: '
        + 'pass one to the constructor, as in new Vicinity(address, { WebSocket }).',
    })
  }

  #open() {
    clearTimeout(this.#retry)
    this.#drop()
    this.#become('connecting')
    let socket
    try {
      socket = new this.#WebSocket(`${this.address.replace(/^http/, 'ws')}/v1/socket`, 'vicinity.v1')
    } catch (error) {
      // An address that is none, or one that the page may not connect to: that does not pass.
      return this.#refuse(new Problem({
        type: '/problems/badRequest', title: 'No WebSocket', detail: `A WebSocket cannot be opened: ${error.message}`,
      }))
    }
    this.#socket = socket
    const fail = (code, why) => {
      if (socket !== this.#socket) return
      this.#drop()
      this.#lost(code, why)
    }
    this.#opening = setTimeout(
      () => fail(1006, `The WebSocket did not open within ${openingTime / 1000} seconds.`), openingTime)
    socket.onopen = () => this.#ask({ connect: this.token ? { token: this.token } : {} }).then(() => this.#opened())
      .catch((problem) => this.#refuse(problem))
    socket.onmessage = ({ data }) => {
      for (const line of data.split('\n')) if (line) this.#hear(JSON.parse(line))
    }
    // Where it cannot be opened, some platforms tell of the error alone.
    socket.onerror = ({ message }) => fail(1006, message && `The WebSocket failed: ${message}`)
    socket.onclose = ({ code, reason }) => fail(code, reason)
  }

  #drop() {
    const socket = this.#socket
    this.#socket = null
    if (!socket) return
    socket.onopen = socket.onmessage = socket.onclose = null
    // One that is closed while it opens tells of that as of an error, which may not go unheard.
    socket.onerror = () => {}
    socket.close()
  }

  #opened() {
    clearTimeout(this.#opening)
    this.#attempt = 0
    this.problem = null
    this.#become('online')
    for (const channel of this.#channels.values()) this.#subscribe(channel)
    this.#heartbeat = setInterval(() => this.#beat(), heartbeatInterval)
  }

  /** A network that swallows everything closes nothing: only silence tells. */
  #beat() {
    const socket = this.#socket
    const patience = setTimeout(() => {
      if (socket !== this.#socket) return
      this.#drop()
      this.#lost(1006)
    }, heartbeatTime)
    this.#ask({ request: { method: 'GET', path: '/healthz' } }).catch(() => {}).finally(() => clearTimeout(patience))
  }

  #refuse(problem) {
    if (problem.kind === 'offline') return
    this.problem = problem
    this.#isWanted = false
    this.#drop()
    this.#lost(null)
    this.#become('refused')
  }

  #lost(code, reason) {
    this.#socket = null
    clearTimeout(this.#opening)
    clearInterval(this.#heartbeat)
    for (const answer of this.#answers.values()) answer.reject(Problem.offline())
    this.#answers.clear()
    this.#byNumber.clear()
    for (const channel of this.#channels.values()) channel.lost()
    if (code >= 4400 && code < 4500) {
      const kind = { 4401: 'unauthorized', 4403: 'forbidden' }[code] ?? 'badRequest'
      return this.#refuse(new Problem({ type: `/problems/${kind}`, detail: reason, status: code - 4000 }))
    }
    if (!this.#isWanted || code === null) return
    this.problem = Problem.offline(reason || undefined)
    const delay = Math.min(retryDelayMax, retryDelayMin * 2 ** this.#attempt)
    this.#attempt += 1
    this.#retry = setTimeout(() => this.#open(), delay * (0.5 + Math.random() / 2))
    this.#become('waiting')
  }

  #hurry() {
    if (this.state === 'waiting') this.#open()
  }

  #become(state) {
    if (this.state === state) return
    this.state = state
    this.dispatchEvent(new Event('state'))
  }

  #ask(frame) {
    if (this.#socket?.readyState !== 1) return Promise.reject(Problem.offline())
    this.#lastID += 1
    const id = this.#lastID
    this.#socket.send(JSON.stringify({ id, ...frame }))
    return new Promise((resolve, reject) => this.#answers.set(id, { resolve, reject }))
  }

  #hear(frame) {
    if (frame.n !== undefined) return this.#told(frame)
    const answer = this.#answers.get(frame.id)
    this.#answers.delete(frame.id)
    if (frame.problem) return answer?.reject(new Problem(frame.problem))
    // Changes follow at once, and so what was asked for has to be in place before the next frame.
    if (frame.ok?.channel && frame.ok.number !== undefined) this.#subscribed(frame.ok)
    answer?.resolve(frame.ok)
  }

  #subscribe(channel) {
    const { path, position } = channel
    this.#ask({ subscribe: position ? { channel: path, since: position } : { channel: path } })
      .catch((problem) => problem.kind === 'offline' || this.#end(channel, problem))
  }

  #subscribed(answer) {
    const channel = this.#channels.get(answer.channel)
    if (!channel) return
    this.#byNumber.set(answer.number, channel)
    channel.begin(answer)
  }

  #told(frame) {
    const channel = this.#byNumber.get(frame.n)
    if (!channel) return
    if (frame.end) return this.#end(channel, null)
    if (channel.take(frame)) return
    // A gap: what is there is asked for anew.
    this.#byNumber.delete(frame.n)
    channel.position = null
    this.#ask({ unsubscribe: { channel: channel.path } }).catch(() => {})
    this.#subscribe(channel)
  }

  #end(channel, problem) {
    this.#forget(channel)
    channel.end(problem)
  }

  #unfollow(channel) {
    if (this.#channels.get(channel.path) !== channel) return
    this.#forget(channel)
    if (this.state === 'online') this.#ask({ unsubscribe: { channel: channel.path } }).catch(() => {})
  }

  #forget(channel) {
    this.#channels.delete(channel.path)
    for (const [number, other] of this.#byNumber) if (other === channel) this.#byNumber.delete(number)
  }
}

/** Whether the same may go well in a moment: the way was cut, or what went before it is not known to be over. */
function isPassing(problem) {
  if (!(problem instanceof Problem)) return false
  return ['offline', 'tooMany', 'unavailable', 'conflict'].includes(problem.kind)
}

/**
 * The things under one path, kept as they are at the gateway. Each change is an event, `change`: set `onchange`, or add
 * listeners. The first tells what was there.
 */
export class Collection extends EventTarget {
  #channel

  constructor(channel) {
    super()
    this.#channel = channel
    this.onchange = null
    this.addEventListener('change', () => this.onchange?.(this))
  }

  get path() { return this.#channel.path }
  /** 'waiting' for the gateway, 'live', 'stale' while it is away, 'ended'; why it ended is its `problem`. */
  get state() { return this.#channel.state }
  get problem() { return this.#channel.problem }
  /** How many unreliable messages were dropped, since this client was too slow for them. */
  get dropped() { return this.#channel.dropped }
  /** Epoch and offset of the last change that is in it. */
  get position() { return this.#channel.position }
  /** Fulfilled once it is live, or will never be. */
  get ready() { return this.#channel.ready.then(() => this) }
  /** In the order in which they came. */
  get items() { return this.#channel.list }
  get(id) { return this.#channel.items.get(id) }

  /** Its listeners are told nothing more; others of the same path still are. */
  close() { this.#channel.remove(this) }
}

/** What is subscribed to at the gateway, once for all collections of its path. */
class Channel {
  #list = null
  #followers = new Set()
  #unfollow
  #resolve

  constructor(path, unfollow) {
    this.path = path
    this.#unfollow = unfollow
    /** Whether things stay; of unreliable messages, each is told once. */
    this.isKept = !path.endsWith('/datagrams')
    this.items = new Map()
    this.dropped = 0
    this.position = null
    this.state = 'waiting'
    this.problem = null
    this.#renew()
  }

  get list() { return (this.#list ??= [...this.items.values()]) }

  addFollower() {
    const follower = new Collection(this)
    this.#followers.add(follower)
    // It comes too late for the change that told the others what is there.
    if (this.state !== 'waiting') queueMicrotask(() => this.#tell(follower))
    return follower
  }

  remove(follower) {
    if (this.#followers.delete(follower) && this.#followers.size === 0) this.#unfollow()
  }

  #renew() {
    this.ready = new Promise((resolve) => { this.#resolve = resolve })
  }

  #changed() {
    this.#list = null
    for (const follower of [...this.#followers]) this.#tell(follower)
  }

  /** Unless it was closed meanwhile, as by another's listener. */
  #tell(follower) {
    if (this.#followers.has(follower)) follower.dispatchEvent(new Event('change'))
  }

  #announce(message) {
    for (const follower of [...this.#followers]) {
      if (this.#followers.has(follower)) follower.dispatchEvent(Object.assign(new Event('datagram'), { message }))
    }
  }

  // What the client tells it

  begin({ position, recovered, items, missed }) {
    if (!recovered && !this.isKept) this.dropped += missed ?? 0
    if (!recovered) this.items = new Map((items ?? []).map((item) => [item.id, item]))
    this.position = position
    this.state = 'live'
    this.#resolve()
    this.#changed()
  }

  /** Whether the change is the next one. */
  take({ o, put, del, dropped, skip = dropped ?? 1 }) {
    const [epoch, offset] = this.position.split('.')
    if (o !== Number(offset) + skip) return false
    this.position = `${epoch}.${o}`
    if (dropped) {
      this.dropped += dropped
      this.#changed()
    }
    if (put && !this.isKept) {
      this.#announce(put)
      return true
    }
    if (put) this.items.set(put.id, put)
    if (del !== undefined) this.items.delete(del)
    if (put || del !== undefined) this.#changed()
    return true
  }

  lost() {
    if (this.state !== 'live') return
    this.state = 'stale'
    this.#renew()
  }

  end(problem) {
    this.state = 'ended'
    this.problem = problem
    this.#resolve()
    this.#changed()
  }
}
