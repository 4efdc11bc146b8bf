// Components that several views share.

import { h, list } from './dom.js'

/** A heading, and what belongs to it. */
export const section = (title, ...content) => h('section', { class: 'part', 'aria-label': title }, h('h2', {}, title), ...content)

/** Rows of two lines; `words(item)` gives both, `action(item)` a button or null. */
export function rows(words, action = () => null) {
  const element = h('ul', { class: 'rows' })
  const draw = list(element, (item) => {
    const [first, second] = [h('strong', { class: 'cut' }), h('span', { class: 'hint' })]
    return {
      element: h('li', { class: 'row' }, h('div', { class: 'grow stack' }, first, second), action(item)),
      update(item) {
        const [a, b] = words(item)
        if (first.textContent !== a) first.textContent = first.title = a
        if (second.textContent !== b) second.textContent = b
      },
    }
  })
  return { element, draw }
}
