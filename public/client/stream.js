// Streams: bytes in order to or from a member, with back pressure from end to end.

import { live } from './live.js'
import { problem, Problem } from './problem.js'
import { pause } from './retry.js'

/** Bytes that may wait in the WebSocket of a stream that is written: past it, writing waits. */
const bufferedMax = 256 * 1024
/** The polling interval of a WebSocket's send buffer, in milliseconds: there is no event for it. */
const pollInterval = 5

/** One stream: who receives it has its `readable`, who opened it its `writable`. */
export class Stream {
  #gateway
  #path

  constructor(gateway, session, item) {
    this.#gateway = gateway
    this.#path = `/v1/sessions/${session}/streams/${item.id}`
    this.id = item.id
    this.name = item.name
    this.peer = item.from ?? item.to
    this.displayName = item.displayName
    this.direction = item.direction
    if (item.direction === 'incoming') this.readable = readable(gateway, this.#path)
    else this.writable = writable(gateway, this.#path)
  }

  /** Ends it from this side: the bytes written before still arrive. */
  close() { return this.#gateway.delete(this.#path) }
}

/** Nothing is asked for before it is read, and nothing is read ahead. */
function readable(gateway, path) {
  const stop = new AbortController()
  let reader = null
  return new ReadableStream({
    async pull(controller) {
      try {
        reader ??= (await gateway.fetch('GET', `${path}/bytes`, { signal: stop.signal, attempts: 1 })).body.getReader()
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      } catch (error) {
        throw error instanceof Problem ? error : cutOff()
      }
    },
    async cancel() {
      stop.abort()
      // One that was never read is still open.
      if (!reader) await gateway.delete(path)
    },
  }, { highWaterMark: 0 })
}

function writable(gateway, path) {
  let socket = null
  let fail
  /** Rejects once the WebSocket is closed by the other side. */
  const failed = new Promise((_, reject) => { fail = reject })
  failed.catch(() => {})

  function open() {
    const WebSocket = gateway[live].requireWebSocket()
    socket = new WebSocket(`${gateway.address.replace(/^http/, 'ws')}${path}/socket`, 'vicinity.stream.v1')
    return new Promise((resolve, reject) => {
      socket.onopen = () => {
        if (gateway.token) socket.send(JSON.stringify({ token: gateway.token }))
        resolve()
      }
      socket.onerror = () => {}
      socket.onclose = ({ code, reason }) => {
        reject(Problem.offline())
        fail(code === 1006 ? cutOff() : problem('cancelled', 'The stream has ended', reason || `It was closed with ${code}.`))
      }
    })
  }

  return new WritableStream({
    start(controller) {
      failed.catch((error) => controller.error(error))
      return open()
    },
    async write(chunk) {
      socket.send(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk)
      while (socket.readyState === 1 && socket.bufferedAmount > bufferedMax) await pause(pollInterval)
      if (socket.readyState !== 1) await failed
    },
    /** Fulfilled once the gateway has all of it. */
    close() {
      return new Promise((resolve, reject) => {
        socket.onclose = ({ code }) => (code === 1000 ? resolve() : reject(cutOff()))
        socket.close(1000)
      })
    },
    abort() { socket.close(4000) },
  }, { highWaterMark: bufferedMax, size: (chunk) => chunk.byteLength ?? chunk.length })
}

const cutOff = () => problem('cancelled', 'The stream was cut off', 'The stream ended before all of it was there.')
