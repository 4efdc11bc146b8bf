// SHA-256 of content as it goes by: `crypto.subtle` takes whole contents only, and is not there without HTTPS.

import { toBase64 } from './id.js'
import { partBytesMax } from './upload.js'

/** Blobs are read in pieces of this size, so that a page stays responsive. */
const pieceBytes = 1024 * 1024

const primes = []
for (let number = 2; primes.length < 64; number += 1) {
  if (primes.every((prime) => number % prime !== 0)) primes.push(number)
}
const fraction = (root) => (root - Math.floor(root)) * 2 ** 32 | 0
const constants = Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)))
const start = Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)))

export class Sha256 {
  #state = start.slice()
  #words = new Int32Array(64)
  #rest = new Uint8Array(64)
  #restCount = 0
  #count = 0

  /** A copy that goes on from here by itself. */
  copy() {
    const other = new Sha256()
    other.#state.set(this.#state)
    other.#rest.set(this.#rest)
    other.#restCount = this.#restCount
    other.#count = this.#count
    return other
  }

  add(bytes) {
    this.#count += bytes.length
    let at = 0
    if (this.#restCount > 0) {
      at = Math.min(64 - this.#restCount, bytes.length)
      this.#rest.set(bytes.subarray(0, at), this.#restCount)
      this.#restCount += at
      if (this.#restCount < 64) return this
      this.#block(this.#rest, 0)
    }
    for (; at + 64 <= bytes.length; at += 64) this.#block(bytes, at)
    this.#rest.set(bytes.subarray(at))
    this.#restCount = bytes.length - at
    return this
  }

  /** The digest of all that was added so far. */
  get bytes() {
    const last = this.copy()
    const padding = new Uint8Array((this.#restCount < 56 ? 64 : 128) - this.#restCount)
    padding[0] = 0x80
    const view = new DataView(padding.buffer)
    view.setUint32(padding.length - 8, Math.floor(this.#count / 2 ** 29))
    view.setUint32(padding.length - 4, this.#count * 8 >>> 0)
    last.add(padding)
    const digest = new Uint8Array(32)
    last.#state.forEach((word, index) => new DataView(digest.buffer).setInt32(index * 4, word))
    return digest
  }

  #block(bytes, at) {
    const words = this.#words
    for (let i = 0, byte = at; i < 16; i += 1, byte += 4) {
      words[i] = bytes[byte] << 24 | bytes[byte + 1] << 16 | bytes[byte + 2] << 8 | bytes[byte + 3]
    }
    for (let i = 16; i < 64; i += 1) {
      const x = words[i - 15]
      const y = words[i - 2]
      const low = (x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3
      const high = (y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10
      words[i] = words[i - 16] + low + words[i - 7] + high | 0
    }
    const state = this.#state
    let a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7]
    for (let i = 0; i < 64; i += 1) {
      const high = (e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7)
      const one = h + high + (e & f ^ ~e & g) + constants[i] + words[i] | 0
      const low = (a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10)
      const two = low + (a & b ^ a & c ^ b & c) | 0
      h = g
      g = f
      f = e
      e = d + one | 0
      d = c
      c = b
      b = a
      a = one + two | 0
    }
    state[0] += a
    state[1] += b
    state[2] += c
    state[3] += d
    state[4] += e
    state[5] += f
    state[6] += g
    state[7] += h
  }
}

/** The digest of a Blob from its beginning to a place that moves on: slow, since it is made in JavaScript. */
export class RunningDigest {
  #hash = new Sha256()
  position = 0

  async advance(blob, end) {
    while (this.position < end) {
      const piece = blob.slice(this.position, Math.min(end, this.position + pieceBytes))
      this.#hash.add(new Uint8Array(await piece.arrayBuffer()))
      this.position += piece.size
    }
  }

  async moveTo() {}

  get bytes() { return this.#hash.bytes }
  get text() { return toBase64(this.bytes) }
  /** The record that a reload resumes from: none, since the digest cannot go on from there. */
  get record() { return null }

  headers(start, end, isWhole) { return isWhole ? { 'Repr-Digest': header(this.bytes) } : {} }
}

/** SHA-256 of a Blob that memory has room for: by the browser where it offers that, which is with HTTPS. */
async function sha256(blob) {
  if (globalThis.crypto?.subtle) return new Uint8Array(await crypto.subtle.digest('SHA-256', await blob.arrayBuffer()))
  const whole = new RunningDigest()
  await whole.advance(blob, blob.size)
  return whole.bytes
}

const header = (bytes) => `sha-256=:${toBase64(bytes)}:`

/**
 * The digests of the parts of a Blob, from its beginning to a place that moves on. Each is chained to those before it,
 * so that the last stands for all.
 */
export class PartDigests {
  #parts = []

  /** The digests of these parts of a Blob; null if it does not have all of them. */
  static async of(blob, ends) {
    const digests = new PartDigests()
    for (const end of ends) {
      const isNext = end > digests.position && end <= digests.position + partBytesMax && end <= blob.size
      if (!isNext) return null
      await digests.advance(blob, end)
    }
    return digests
  }

  get position() { return this.#parts.at(-1)?.end ?? 0 }
  get text() { return toBase64(this.#parts.at(-1)?.chain ?? new Uint8Array()) }
  get record() { return { ends: this.#parts.map(({ end }) => end), digest: this.text } }

  /** Adds the part that ends there. */
  async advance(blob, end) {
    if (end <= this.position) return
    const own = await sha256(blob.slice(this.position, end))
    const before = this.#parts.at(-1)?.chain ?? new Uint8Array()
    const chain = await sha256(new Blob([before, own]))
    this.#parts.push({ start: this.position, end, own, chain })
  }

  /** Drops and adds parts until one ends there. */
  async moveTo(blob, offset) {
    while (this.position > offset) this.#parts.pop()
    while (this.position < offset) await this.advance(blob, Math.min(offset, this.position + partBytesMax))
  }

  headers(start, end) {
    const part = this.#parts.find((part) => part.start === start && part.end === end)
    return part ? { 'Content-Digest': header(part.own) } : {}
  }
}
