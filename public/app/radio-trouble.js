// A problem with radios, and the command on the gateway's machine that helps.

import { h, say, show } from './dom.js'
import { hasText, t } from './texts.js'
import { sentence } from './words.js'

/** The command has the name of the radio where it needs one. */
export function radioTrouble(radio) {
  const text = h('p', { class: 'error', role: 'alert' })
  const cure = h('code', { class: 'cure' })
  const element = h('div', { class: 'stack', hidden: true }, text, cure)
  return {
    element,
    /** None where there is no problem. */
    draw(problem) {
      const key = `radioCure.${problem?.rule}`
      say(text, problem ? sentence(problem) : '')
      say(cure, hasText(key) ? t(key, { radio }) : '')
      show(cure, hasText(key))
      show(element, Boolean(problem))
    },
  }
}
