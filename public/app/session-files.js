// The files of a session, the latest first.

import { h, list } from './dom.js'
import { filesCard } from './file-card.js'

export function sessionFiles(home) {
  let drawnRoom = null
  const element = h('div', { id: 'files', class: 'panel files', hidden: true })
  const draw = list(element, (entry) => filesCard(home, drawnRoom, entry), (entry) => entry.key)
  return {
    element,
    update(room) {
      if (room !== drawnRoom) draw([])
      drawnRoom = room
      draw(element.hidden ? [] : room.files.toReversed())
    },
  }
}
