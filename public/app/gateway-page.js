// The gateway: how it is, this browser's part in it, and for operators who else is in and what happens.

import { audit } from './gateway-audit.js'
import { clients } from './gateway-clients.js'
import { codes } from './gateway-codes.js'
import { history } from './gateway-charts.js'
import { doctor } from './gateway-doctor.js'
import { health } from './gateway-health.js'
import { radios } from './gateway-radios.js'
import { gatewaySettings } from './gateway-settings.js'
import { alertChoice } from './alerts.js'
import { h } from './dom.js'
import { languageChoice } from './language.js'
import { licences } from './licences.js'
import { section } from './parts.js'
import { ask } from './question.js'
import { t } from './texts.js'
import { worded } from './words.js'

const exampleNames = ['board', 'todo', 'remote', 'sensors', 'metronome', 'audio', 'translate']

export function gatewayPage(home, element, speak) {
  const state = health(home)
  const others = home.isOperator ? [codes(home), clients(home), radios(home), history(home), doctor(home), ...(home.client.role === 'admin' ? [gatewaySettings(home)] : []), audit(home)] : []
  element.append(...[
    state.element, browser(home, speak), home.canAct && examples(), ...others.map((part) => part.element),
    !home.isOperator && h('p', { class: 'hint' }, t('gateway.askOperator')), state.details, madeOf(),
  ].filter(Boolean))
  return {
    update() {
      if (element.hidden) return
      for (const part of [state, ...others]) part.update()
    },
  }
}

function browser(home, speak) {
  const leave = h('button', { onclick: async () => {
    const answer = await ask({
      title: t('own.deleteQuestion'), text: [t('own.deleteText'), t('own.deleteCopy')],
      answers: [{ value: 'delete', name: t('own.deleteYes'), kind: 'danger' }],
    })
    if (answer) await home.attempt(() => home.deleteAll())
  } }, t('own.delete'))
  return section(t('own.title'),
    h('div', { class: 'card stack' },
      h('div', { class: 'row wrap' },
        h('div', { class: 'grow stack' }, h('strong', {}, home.client.name),
          h('span', { class: 'hint' }, worded('role', home.client.role))),
        h('a', { class: 'button', href: home.gateway.exportAddress, download: true }, t('own.save')), leave),
      languageChoice(speak), alertChoice()))
}

/** Small pages, each on the client alone. */
function examples() {
  return section(t('examples.title'), h('p', { class: 'hint' }, t('examples.hint')),
    h('ul', { class: 'examples' }, exampleNames.map((name) => h('li', {}, h('a', { href: `examples/${name}.html`, class: 'card stack' },
      h('strong', {}, t(`example.${name}`)), h('span', { class: 'hint' }, t(`example.${name}Hint`)))))))
}

function madeOf() {
  return h('div', { class: 'hint licences' },
    h('details', {}, h('summary', {}, t('licences.text')),
      h('dl', { class: 'facts' }, licences.map(([part, licence]) => h('div', {}, h('dt', {}, part), h('dd', {}, licence))))),
    h('a', { href: 'docs' }, t('licences.docs')))
}
