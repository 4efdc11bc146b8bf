// The WebSocket of a client: it stays open, comes back, and has the subscriptions.

import { Channel } from './channel.js'
import { withBody } from './id.js'
import { Problem, problem } from './problem.js'
import { backoff } from './retry.js'

/** How often the gateway is asked whether it is there, and how long it may take to say so. */
const heartbeatInterval = 20_000
const heartbeatTime = 10_000
/** From the first packet of a WebSocket to the gateway's answer to 'connect': some platforms report no refusal. */
const openingTime = 15_000

/** A frame is a line of JSON, a newline, and the body of the message that was put. */
function binaryFrame(bytes) {
  const end = bytes.indexOf(10)
  const frame = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)))
  return { ...frame, put: withBody(frame.put, bytes.subarray(end + 1)) }
}

/** By which a client's parts reach its WebSocket. */
export const live = Symbol('live')

export class LiveSocket {
  #gateway
  #WebSocket
  #changed
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
  /** Whether to ask for binary frames: gateways of before version 0.3 refuse the wish. */
  #asksForBinary = true

  /** `changed` is called after each change of the state. */
  constructor(gateway, WebSocket, changed) {
    this.#gateway = gateway
    this.#WebSocket = WebSocket
    this.#changed = changed
    this.state = 'idle'
    this.problem = null
    globalThis.addEventListener?.('online', () => this.#hurry())
    globalThis.document?.addEventListener('visibilitychange', () => document.hidden || this.#hurry())
  }

  follow(path, { limit, since } = {}) {
    this.requireWebSocket()
    let channel = this.#channels.get(path)
    if (!channel) {
      channel = new Channel(path, since, () => this.#unfollow(channel))
      this.#channels.set(path, channel)
      if (this.state === 'online') this.#subscribe(channel)
    }
    if (channel.lacks(limit)) this.#startAnew(channel, false)
    const collection = channel.addFollower(limit)
    if (this.state === 'idle') this.connect()
    return collection
  }

  connect() {
    this.requireWebSocket()
    this.#isWanted = true
    if (!this.#socket) this.#open()
  }

  /** Opens it anew, with a new token: also where the old one was refused. */
  reconnect() {
    if (this.#isWanted || this.state === 'refused') {
      this.#isWanted = true
      this.#open()
    }
  }

  close() {
    this.#isWanted = false
    clearTimeout(this.#retry)
    this.#socket?.close(1000)
    this.#lost(null)
    this.#become('idle')
  }

  /** The answer to a request over the WebSocket: nothing that is sent by it waits behind a new connection. */
  request(method, path) { return this.#ask({ request: { method, path } }) }

  /** The class of WebSockets. */
  requireWebSocket() {
    if (this.#WebSocket) return this.#WebSocket
    throw problem(
      'unsupported', 'No WebSocket',
      'This platform has no WebSocket, as Node before version 22 has none: '
        + 'pass one to the constructor, as in new Vicinity(address, { WebSocket }).')
  }

  #open() {
    clearTimeout(this.#retry)
    this.#drop()
    this.#become('connecting')
    const { address, token } = this.#gateway
    let socket
    try {
      socket = new this.#WebSocket(`${address.replace(/^http/, 'ws')}/v1/socket`, 'vicinity.v1')
    } catch (error) {
      // An address that is none, or one that the page may not connect to: that does not pass.
      return this.#refuse(problem('badRequest', 'No WebSocket', `A WebSocket cannot be opened: ${error.message}`))
    }
    socket.binaryType = 'arraybuffer'
    this.#socket = socket
    const fail = (code, why) => {
      if (socket !== this.#socket) return
      this.#drop()
      this.#lost(code, why)
    }
    this.#opening = setTimeout(
      () => fail(1006, `The WebSocket did not open within ${openingTime / 1000} seconds.`), openingTime)
    socket.onopen = () => {
      const connect = { ...token && { token }, ...this.#asksForBinary && { binary: true } }
      this.#ask({ connect }).then(() => this.#opened()).catch((error) => this.#refused(error))
    }
    socket.onmessage = ({ data }) => {
      if (typeof data !== 'string') return this.#hear(binaryFrame(new Uint8Array(data)))
      for (const line of data.split('\n')) if (line) this.#hear(JSON.parse(line))
    }
    // An error event is all that some platforms report of a WebSocket that cannot be opened.
    socket.onerror = ({ message }) => fail(1006, message && `The WebSocket failed: ${message}`)
    socket.onclose = ({ code, reason }) => fail(code, reason)
  }

  #drop() {
    const socket = this.#socket
    this.#socket = null
    if (!socket) return
    socket.onopen = socket.onmessage = socket.onclose = null
    // A socket that is closed while it opens emits an error, which must have a listener.
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

  /** A heartbeat: a network that drops everything closes no connection, so that only silence shows it. */
  #beat() {
    const socket = this.#socket
    const patience = setTimeout(() => {
      if (socket !== this.#socket) return
      this.#drop()
      this.#lost(1006)
    }, heartbeatTime)
    this.#ask({ request: { method: 'GET', path: '/healthz' } }).catch(() => {}).finally(() => clearTimeout(patience))
  }

  #refused(error) {
    if (!this.#asksForBinary || error.field !== 'connect.binary') return this.#refuse(error)
    this.#asksForBinary = false
    this.#open()
  }

  #refuse(error) {
    if (error.kind === 'offline') return
    this.problem = error
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
    this.#retry = setTimeout(() => this.#open(), backoff(this.#attempt))
    this.#attempt += 1
    this.#become('waiting')
  }

  #hurry() {
    if (this.state === 'waiting') this.#open()
  }

  #become(state) {
    if (this.state === state) return
    this.state = state
    this.#changed()
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
      .catch((error) => error.kind === 'offline' || this.#end(channel, error))
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
    this.#startAnew(channel, true)
  }

  #startAnew(channel, continues) {
    const isSubscribed = channel.state === 'live'
    channel.restart(continues)
    this.#unnumber(channel)
    if (!isSubscribed) return
    this.#ask({ unsubscribe: { channel: channel.path } }).catch(() => {})
    this.#subscribe(channel)
  }

  #end(channel, error) {
    this.#forget(channel)
    channel.end(error)
  }

  #unfollow(channel) {
    if (this.#channels.get(channel.path) !== channel) return
    this.#forget(channel)
    if (this.state === 'online') this.#ask({ unsubscribe: { channel: channel.path } }).catch(() => {})
  }

  #unnumber(channel) {
    for (const [number, other] of this.#byNumber) if (other === channel) this.#byNumber.delete(number)
  }

  #forget(channel) {
    this.#channels.delete(channel.path)
    this.#unnumber(channel)
  }
}
