// The files of a session, the latest first.

import { h, list } from './dom.js'
import { filesCard } from './file-card.js'

export function sessionFiles(home) {
  let drawnRoom = null
  const element = h('div', { class: 'files' })
  const draw = list(element, (entry) => filesCard(home, drawnRoom, entry), (entry) => entry.key)
  return {
    element,
    update(room, isShown) {
      if (room !== drawnRoom) draw([])
      drawnRoom = room
      draw(isShown ? room.files.toReversed() : [])
    },
  }
}
