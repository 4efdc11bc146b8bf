// A text as a QR code: an image that the gateway draws, since no address with a secret in it should go anywhere else.

import { h } from './dom.js'

/** An image for the text; `alt` says what it leads to. */
export async function qrImage(gateway, text, alt) {
  const svg = await gateway.post('/v1/qr-codes', { text })
  return h('img', { class: 'qr', src: `data:image/svg+xml,${encodeURIComponent(svg)}`, alt, width: 220, height: 220 })
}
