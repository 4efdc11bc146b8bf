// The choice of the page's language.

import { h } from './dom.js'
import { language, languages, t } from './texts.js'

/** A choice of the language; `speak` is called with each new choice. */
export function languageChoice(speak) {
  const choice = h('select', { id: 'language', onchange: () => speak(choice.value) },
    Object.entries(languages).map(([tag, name]) => h('option', { value: tag, lang: tag }, name)))
  choice.value = language
  return h('div', { class: 'row language' }, h('label', { for: 'language' }, t('language.label')), choice)
}
