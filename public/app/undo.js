// Undo: a recent action that can be taken back for some seconds.

import { h, say, show } from './dom.js'
import { t } from './texts.js'

/** As long as it is looked at, it stays. */
const heldTime = 3000

export function undoBar(home) {
  const text = h('span', { class: 'grow' })
  const undo = h('button', { class: 'quiet', onclick: () => home.attempt(() => home.undo()) }, t('undo'))
  const bar = h('div', { class: 'undo row' }, text, undo)
  const element = h('div', { class: 'undoplace', role: 'status' }, bar)

  function update() {
    const { undoable } = home
    if (undoable && bar.matches(':hover, :focus-within')) undoable.end = Math.max(undoable.end, Date.now() + heldTime)
    if (undoable && undoable.end <= Date.now()) home.finish()
    show(bar, Boolean(home.undoable))
    say(text, home.undoable?.text ?? '')
  }

  return { element, update }
}
