// A name's letters in a round field, with a mark where its owner is there.

import { h, say, set } from './dom.js'
import { initials } from './words.js'

export function avatar(name = '') {
  const letters = h('span', {}, initials(name))
  const element = h('span', { class: 'avatar', 'aria-hidden': 'true' }, letters)
  return {
    element,
    update(name, isThere) {
      say(letters, initials(name))
      set(element, 'data-there', isThere && 'yes')
    },
  }
}
