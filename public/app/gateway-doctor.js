// The doctor: why peers are not found, and what helps.

import { h, say, show } from './dom.js'
import { section } from './parts.js'
import { t } from './texts.js'
import { sentence, time } from './words.js'

export function doctor(home) {
  const run = h('button', { onclick: examine }, t('doctor.run'))
  const status = h('p', { class: 'hint', role: 'status' }, t('doctor.hint'))
  const findings = h('ul', { class: 'rows findings' })
  const element = section(t('doctor.title'),
    h('div', { class: 'row wrap' }, h('div', { class: 'grow' }, status), run), findings)

  async function examine() {
    run.disabled = true
    say(status, t('doctor.running'))
    try {
      const { at, findings: found } = await home.gateway.get('/v1/gateway/diagnostics')
      say(status, t('doctor.done', { time: time(at) }))
      findings.replaceChildren(...found.map(finding))
    } catch (problem) {
      say(status, sentence(problem))
    }
    run.disabled = false
  }

  return { element, update: () => show(findings, findings.childElementCount > 0) }
}

function finding({ state, text, cure }) {
  return h('li', { class: 'finding', 'data-state': state },
    h('span', { class: 'verdict' }, t(`finding.${state}`)),
    h('div', { class: 'stack grow' }, h('span', {}, text), cure && h('code', { class: 'cure' }, cure)))
}
