// The JavaScript client of a Vicinity gateway: REST, live collections over one WebSocket, uploads that resume.
//
//     import { Vicinity } from './vicinity.js'
//
//     const gateway = new Vicinity('http://127.0.0.1:7777')
//     await gateway.pair('ABCD-EFGH', { name: 'stage lights' })
//     const peer = await gateway.post('/v1/peers', { displayName: 'Lights' })
//     const session = await gateway.post('/v1/sessions', { peer: peer.id, adhoc: 'stage' })
//     const messages = gateway.follow(`/v1/sessions/${session.id}/messages`)
//     messages.onchange = () => console.log(messages.items.at(-1)?.body)
//
// It stands alone and runs in browsers and in Node; a Node before 22 has no WebSocket, so give one: { WebSocket: ws }.

const retryDelayMin = 500
const retryDelayMax = 10_000
/** How often the gateway is asked whether it is there, and how long it may take to say so. */
const heartbeatInterval = 20_000
const heartbeatTime = 10_000
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
    /** Seconds after which it is worth trying again. */
    this.retryAfter = problem.retryAfter
    this.headers = headers
  }

  static offline() {
    return new Problem({
      type: '/problems/offline', title: 'No answer',
      detail: 'The gateway does not answer: it may have stopped, or the network between is down.',
    })
  }
}

/** An id that nobody else makes. */
export function newID() {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
  return Array.from(crypto.getRandomValues(new Uint8Array(20)), (byte) => alphabet[byte & 31]).join('')
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
  #heartbeat = null
  #lastID = 0
  #answers = new Map()
  #collections = new Map()
  #byNumber = new Map()
  #WebSocket

  /** `token` is what pairing gives to programs, `csrf` what it gives to a page, whose browser keeps a cookie. */
  constructor(address = globalThis.location?.origin, { token, csrf, WebSocket = globalThis.WebSocket } = {}) {
    super()
    this.address = address.replace(/\/$/, '')
    this.token = token
    this.csrf = csrf
    this.#WebSocket = WebSocket
    /** Of the WebSocket: 'idle', 'connecting', 'online', 'waiting' to try again, 'refused' for `problem`. */
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
  async fetch(method, path, { json, body, headers = {}, signal } = {}) {
    const all = { ...headers }
    if (json !== undefined) all['Content-Type'] = 'application/json'
    if (this.token) all.Authorization = `Bearer ${this.token}`
    if (this.csrf && method !== 'GET' && method !== 'HEAD') all['X-Vicinity-CSRF'] = this.csrf
    if (method === 'POST') all['Idempotency-Key'] ??= newID()
    const request = { method, headers: all, body: json === undefined ? body : JSON.stringify(json), signal }
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
   * often the network loses the request: its id says which one it is.
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

  /** A collection and its changes, such as '/v1/sessions/…/messages'; close it when it is not needed any more. */
  follow(path) {
    let collection = this.#collections.get(path)
    if (!collection) {
      collection = new Collection(path, () => this.#unfollow(collection))
      this.#collections.set(path, collection)
      if (this.state === 'online') this.#subscribe(collection)
    }
    collection.followers += 1
    if (this.state === 'idle') this.connect()
    return collection
  }

  /** Opens the WebSocket and keeps it open. */
  connect() {
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

  #open() {
    clearTimeout(this.#retry)
    this.#drop()
    this.#become('connecting')
    const socket = new this.#WebSocket(`${this.address.replace(/^http/, 'ws')}/v1/socket`, 'vicinity.v1')
    this.#socket = socket
    socket.onopen = () => this.#ask({ connect: this.token ? { token: this.token } : {} }).then(() => this.#opened())
      .catch((problem) => this.#refuse(problem))
    socket.onmessage = ({ data }) => {
      for (const line of data.split('\n')) if (line) this.#hear(JSON.parse(line))
    }
    socket.onclose = ({ code, reason }) => {
      if (socket === this.#socket) this.#lost(code, reason)
    }
  }

  #drop() {
    const socket = this.#socket
    this.#socket = null
    if (socket) socket.onopen = socket.onmessage = socket.onclose = null
    socket?.close()
  }

  #opened() {
    this.#attempt = 0
    this.problem = null
    this.#become('online')
    for (const collection of this.#collections.values()) this.#subscribe(collection)
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
    clearInterval(this.#heartbeat)
    for (const answer of this.#answers.values()) answer.reject(Problem.offline())
    this.#answers.clear()
    this.#byNumber.clear()
    for (const collection of this.#collections.values()) collection.lost()
    if (code >= 4400 && code < 4500) {
      const kind = { 4401: 'unauthorized', 4403: 'forbidden' }[code] ?? 'badRequest'
      return this.#refuse(new Problem({ type: `/problems/${kind}`, detail: reason, status: code - 4000 }))
    }
    if (!this.#isWanted || code === null) return
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

  #subscribe(collection) {
    const { path, position } = collection
    this.#ask({ subscribe: position ? { channel: path, since: position } : { channel: path } })
      .catch((problem) => problem.kind === 'offline' || this.#end(collection, problem))
  }

  #subscribed(answer) {
    const collection = this.#collections.get(answer.channel)
    if (!collection) return
    this.#byNumber.set(answer.number, collection)
    collection.begin(answer)
  }

  #told(frame) {
    const collection = this.#byNumber.get(frame.n)
    if (!collection) return
    if (frame.end) return this.#end(collection, null)
    if (collection.take(frame)) return
    // A gap: what is there is asked for anew.
    this.#byNumber.delete(frame.n)
    collection.position = null
    this.#ask({ unsubscribe: { channel: collection.path } }).catch(() => {})
    this.#subscribe(collection)
  }

  #end(collection, problem) {
    this.#forget(collection)
    collection.end(problem)
  }

  #unfollow(collection) {
    if (this.#collections.get(collection.path) !== collection) return
    this.#forget(collection)
    if (this.state === 'online') this.#ask({ unsubscribe: { channel: collection.path } }).catch(() => {})
  }

  #forget(collection) {
    this.#collections.delete(collection.path)
    for (const [number, other] of this.#byNumber) if (other === collection) this.#byNumber.delete(number)
  }
}

/** Whether the same may go well in a moment: the way was cut, or what went before it is not known to be over. */
function isPassing(problem) {
  if (!(problem instanceof Problem)) return false
  return ['offline', 'tooMany', 'unavailable', 'conflict'].includes(problem.kind)
}

/** The things under one path, kept as they are at the gateway. Set `onchange` to hear of changes. */
export class Collection {
  #items = new Map()
  #list = null
  #unfollow
  #resolve

  constructor(path, unfollow) {
    this.path = path
    this.#unfollow = unfollow
    this.followers = 0
    /** Epoch and offset of the last change that is in it. */
    this.position = null
    /** 'waiting' for the gateway, 'live', 'stale' while it is away, 'ended'; why it ended is its `problem`. */
    this.state = 'waiting'
    this.problem = null
    this.onchange = null
    this.#renew()
  }

  /** In the order in which they came. */
  get items() { return (this.#list ??= [...this.#items.values()]) }
  get(id) { return this.#items.get(id) }

  close() {
    this.followers -= 1
    if (this.followers === 0) this.#unfollow()
  }

  #renew() {
    /** Fulfilled once it is live, or will never be. */
    this.ready = new Promise((resolve) => { this.#resolve = resolve })
  }

  #changed() {
    this.#list = null
    this.onchange?.(this)
  }

  // What the client tells it

  begin({ position, recovered, items }) {
    if (!recovered) this.#items = new Map((items ?? []).map((item) => [item.id, item]))
    this.position = position
    this.state = 'live'
    this.#resolve(this)
    this.#changed()
  }

  /** Whether the change is the next one. */
  take({ o, put, del, skip = 1 }) {
    const [epoch, offset] = this.position.split('.')
    if (o !== Number(offset) + skip) return false
    this.position = `${epoch}.${o}`
    if (put) this.#items.set(put.id, put)
    if (del !== undefined) this.#items.delete(del)
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
    this.#resolve(this)
    this.#changed()
  }
}
