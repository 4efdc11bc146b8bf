// Contents of messages, to be sent and as they came.

import { binaryBody, fromBase64 } from './id.js'

/** A message with its fields as in the contract, and its content in three forms. */
export class Message {
  constructor(item) {
    if (item[binaryBody]) Object.defineProperties(this, Object.getOwnPropertyDescriptors(item))
    else Object.assign(this, item)
  }

  get isReliable() { return this.mode === 'reliable' }
  get bytes() {
    if (this[binaryBody]) return this[binaryBody].slice()
    return this.encoding ? fromBase64(this.body) : new TextEncoder().encode(this.body)
  }
  get text() { return this.encoding ? new TextDecoder().decode(this.bytes) : this.body }
  /** The body, parsed as JSON. It comes from somebody else, so validate it before use. */
  json() { return JSON.parse(this.text) }
}

/** The body and the type of what is given: text, bytes, a Blob, or a value that becomes JSON. */
export async function encode(content, type) {
  if (typeof content === 'string') return { body: content, contentType: type ?? 'text/plain; charset=utf-8' }
  if (content instanceof Blob) {
    return { body: new Uint8Array(await content.arrayBuffer()), contentType: type ?? (content.type || octets) }
  }
  if (content instanceof ArrayBuffer) return { body: new Uint8Array(content.slice(0)), contentType: type ?? octets }
  // A copy: what is given may be used for something else while the message waits.
  if (ArrayBuffer.isView(content)) {
    const { buffer, byteOffset, byteLength } = content
    return { body: new Uint8Array(buffer.slice(byteOffset, byteOffset + byteLength)), contentType: type ?? octets }
  }
  return { body: JSON.stringify(content), contentType: type ?? 'application/json' }
}

const octets = 'application/octet-stream'
