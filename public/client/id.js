/** An id that nobody else makes. */
export function newID() {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
  const bytes = new Uint8Array(20)
  // Node 18 has no global `crypto`; an id has to be unique, and need not be secret.
  const random = globalThis.crypto?.getRandomValues(bytes) ?? bytes.map(() => Math.random() * 256)
  return Array.from(random, (byte) => alphabet[byte & 31]).join('')
}

/** The peer ID that `to` and the like name: a text, or an object with a `peer`, such as a member or a found peer. */
export const peerID = (peer) => (typeof peer === 'string' ? peer : peer.peer ?? peer.id)

export function toBase64(bytes) {
  let text = ''
  for (let start = 0; start < bytes.length; start += 8192) {
    text += String.fromCharCode(...bytes.subarray(start, start + 8192))
  }
  return btoa(text)
}

/** The bytes of a body that came in a binary frame. */
export const binaryBody = Symbol('binaryBody')

/** The message with its body, as in the contract; base64 is made of it only for who reads that. */
export function withBody({ delivery, ...item }, bytes) {
  let text
  Object.defineProperties(item, {
    [binaryBody]: { value: bytes },
    body: { enumerable: true, get: () => (text ??= toBase64(bytes)) },
  })
  return Object.assign(item, { encoding: 'base64' }, delivery && { delivery })
}

/** A copy of a message; one by values would make base64 of bytes. */
export const copyOf = (item) => (item[binaryBody]
  ? Object.defineProperties({}, Object.getOwnPropertyDescriptors(item)) : { ...item })

export const fromBase64 = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
