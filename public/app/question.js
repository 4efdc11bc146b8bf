// Questions before what cannot be taken back, or lets others in.

import { h } from './dom.js'

/**
 * Asks in a dialog, and gives the `value` of the answer; null where none was given: Cancel, Escape, a tap beside it. Each
 * of `answers` has a `value`, a `name`, and a `kind` ('primary' or 'danger') where it stands out.
 */
export function ask({ title, text, answers }) {
  return new Promise((resolve) => {
    const dialog = h('dialog', {
      class: 'question', 'aria-labelledby': 'question-title', 'aria-describedby': 'question-text',
      // What is inside lies on the form, so only the backdrop is the dialog itself.
      onclick: (event) => event.target === dialog && dialog.close(),
      onclose: () => {
        dialog.remove()
        resolve(dialog.returnValue || null)
      },
    }, h('form', { method: 'dialog' },
      h('h2', { id: 'question-title' }, title),
      h('div', { id: 'question-text', class: 'stack' }, text.filter(Boolean).map((sentences) => h('p', {}, sentences))),
      h('div', { class: 'answers' },
        // The answer that changes nothing is the one under the finger.
        h('button', { value: '', autofocus: true }, 'Cancel'),
        answers.map(({ value, name, kind }) => h('button', { value, class: kind }, name)))))
    // It goes with the page that asks.
    const page = document.querySelector('.house') ?? document.body
    page.append(dialog)
    dialog.showModal()
  })
}
