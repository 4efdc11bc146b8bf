// A name's letters in a round field of one of some colours, with a mark where its owner is there.

import { h, say, set } from './dom.js'
import { initials } from './words.js'

/** As many as there are in the tokens. */
const hues = 8

/** The same for the same name, on each page. */
export function hueOf(name) {
  let hash = 2_166_136_261
  for (const letter of name) hash = Math.imul(hash ^ letter.codePointAt(0), 16_777_619)
  return (hash >>> 13) % hues
}

export function avatar(name = '') {
  const letters = h('span', {}, initials(name))
  const element = h('span', { class: 'avatar', 'aria-hidden': 'true', 'data-hue': hueOf(name) }, letters)
  return {
    element,
    update(name, isThere) {
      say(letters, initials(name))
      set(element, 'data-hue', hueOf(name))
      set(element, 'data-there', isThere && 'yes')
    },
  }
}
