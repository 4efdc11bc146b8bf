// Saving something that the page has made as a file.

import { h } from './dom.js'

export function saveFile(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }))
  h('a', { href: address, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
