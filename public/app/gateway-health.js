// How the gateway is: whether others can be found, how long it runs, and where it is asked.

import { h, list, say, set } from './dom.js'
import { section } from './parts.js'
import { t } from './texts.js'
import { date, duration, size } from './words.js'

export function health(home) {
  const dot = h('i', { class: 'dot' })
  const verdict = h('strong')
  const why = h('p', { class: 'hint' })
  const facts = h('dl', { class: 'facts' })
  const draw = list(facts, ([key]) => {
    const value = h('dd')
    return {
      element: h('div', {}, h('dt', {}, t(`health.${key}`)), value),
      update: ([, text]) => say(value, text),
    }
  }, ([key]) => key)
  const card = h('div', { class: 'card stack health', role: 'status' }, h('div', { class: 'row' }, dot, verdict), why)
  const element = section(t('views.gateway'), card)

  function update() {
    const { about } = home
    const isReached = home.gateway.state === 'online'
    const problem = isReached ? home.discoveryProblem : t('gateway.noAnswer')
    set(card, 'data-state', problem ? 'warning' : 'online')
    say(verdict, t(problem ? 'health.bad' : 'health.good'))
    say(why, problem ?? t('health.goodHint'))
    const { client, limits } = about
    draw([
      ['name', about.name], ['version', about.version],
      about.startedAt && ['running', duration((Date.now() - new Date(about.startedAt)) / 1000)],
      about.startedAt && ['started', date(about.startedAt)],
      about.urls?.length && ['addresses', about.urls.join('\n')],
      about.https && ['fingerprint', about.https.fingerprint],
      client && limits?.resourceBytesPerClient
        && ['files', t('size.of', { part: size(client.resourceBytes), whole: size(limits.resourceBytesPerClient) })],
    ].filter(Boolean))
  }

  return { element, details: section(t('health.details'), facts), update }
}
