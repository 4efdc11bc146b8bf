// Questions before what cannot be taken back, or lets others in.

import { h } from './dom.js'
import { t } from './texts.js'

/**
 * Asks in a dialog, and gives the `value` of the answer; null where none was given: Cancel, Escape, a tap beside it. Each
 * of `answers` has a `value`, a `name`, and a `kind` ('primary' or 'danger') where it stands out. `text` has sentences and
 * elements.
 */
export function ask({ title, text, answers, cancel = t('cancel') }) {
  return new Promise((resolve) => {
    const dialog = h('dialog', {
      class: 'question', 'aria-labelledby': 'question-title', 'aria-describedby': 'question-text',
      // The content lies on the form, so only the backdrop is the dialog itself.
      onclick: (event) => event.target === dialog && dialog.close(),
      onclose: () => {
        dialog.remove()
        resolve(dialog.returnValue || null)
      },
    }, h('form', { method: 'dialog' },
      h('h2', { id: 'question-title' }, title),
      h('div', { id: 'question-text', class: 'stack' },
        text.filter(Boolean).map((part) => (part instanceof Element ? part : h('p', {}, part)))),
      h('div', { class: 'answers' },
        // The answer that changes nothing is the one under the finger.
        h('button', { value: '', autofocus: true }, cancel),
        answers.map(({ value, name, kind }) => h('button', { value, class: kind }, name)))))
    // The dialog belongs to the page that asks, and is removed with it.
    const page = document.querySelector('.shell') ?? document.body
    page.append(dialog)
    dialog.showModal()
  })
}
