// The panels of a session, of which one is open at most. In a wide window it stands below the head; in a narrow one it is a sheet
// below the messages, which wait until its button, the Escape key or a tap on them closes it.

import { h, icon, say, set, show } from './dom.js'
import { cross } from './icons.js'
import { t } from './texts.js'

/** A window with one view at a time, as in the style sheet of the layout. */
const narrow = matchMedia('(max-width: 899px)')

/** `changed` is called when one is opened or closed, and when the window becomes narrow or wide. */
export function makePanels(changed) {
  const all = new Map()
  let opened = null
  let [frame, behind] = [null, null]
  const veil = h('div', { class: 'veil', onclick: close })

  function turn(name) {
    if (name === opened) return
    opened = name
    // At once, so that the next key is for what is there.
    update()
    changed()
  }

  /** The focus goes back to where the panel was opened. */
  function close() {
    all.get(opened)?.button.focus()
    turn(null)
  }

  function update() {
    for (const [name, { button, element }] of all) {
      show(element, opened === name)
      set(button, 'aria-expanded', String(opened === name))
    }
    const isSheet = opened !== null && narrow.matches
    set(frame, 'data-sheet', isSheet)
    set(behind, 'inert', isSheet)
  }

  /** A question has the key for itself, and so has a search with words in it. */
  function heed({ key, target }) {
    const isOther = document.querySelector('dialog[open]') || target.matches('input[type=search]:not(:placeholder-shown)')
    if (key === 'Escape' && !isOther && all.get(opened)?.element.checkVisibility()) close()
  }

  narrow.addEventListener('change', changed)
  document.addEventListener('keydown', heed)
  return {
    veil,
    get elements() { return [...all.values()].map(({ element }) => element) },
    get opened() { return opened },
    /** The element of which the panels are parts, and the messages, which wait behind a sheet. */
    place(element, messages) { [frame, behind] = [element, messages] },
    turn,
    /** A panel with the button that opens and closes it. */
    add(name, attributes, ...content) {
      const button = h('button', {
        class: 'quiet', 'aria-expanded': 'false', 'aria-controls': name, onclick: () => turn(opened === name ? null : name),
      })
      const heading = h('h3', { class: 'cut' })
      const ending = h('button', { class: 'quiet', 'aria-label': t('close'), onclick: close }, icon(cross))
      const element = h('div', { id: name, class: 'panel', hidden: true, ...attributes }, h('div', { class: 'row between panelhead' }, heading, ending), ...content)
      const panel = { button, element, say: (text) => [button, heading].forEach((one) => say(one, text)) }
      all.set(name, panel)
      return panel
    },
    update,
    removed() {
      narrow.removeEventListener('change', changed)
      document.removeEventListener('keydown', heed)
    },
  }
}
