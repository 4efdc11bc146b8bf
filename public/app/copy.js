// A button that copies a text. Browsers give a page that is not encrypted no clipboard: there the text is selected in a field, and the
// selection copied.

import { h, say } from './dom.js'
import { t } from './texts.js'

/** How long the button says what became of it, in milliseconds. */
const wordTime = 2000

/** The button copies what `text` gives at that moment. */
export function copyButton(name, text) {
  const button = h('button', { type: 'button', onclick: async () => {
    const isCopied = await copy(text(), button)
    say(button, t(isCopied ? 'copied' : 'copy.failed'))
    setTimeout(() => say(button, name), wordTime)
  } }, name)
  return button
}

/** Whether it is copied. The field stands beside the button, which may be in a dialog: nothing outside of that takes the focus. */
async function copy(text, button) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text).then(() => true, () => false)
  const field = h('textarea', {}, text)
  button.after(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  button.focus()
  return isCopied
}
