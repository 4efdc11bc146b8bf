// Whether somebody is who they seem: comparing codes on both screens, and deciding on certificates.

import { avatar } from './avatar.js'
import { h, list, say, set, show } from './dom.js'
import { t } from './texts.js'
import { date, timeLeft } from './words.js'

/** Cards of what waits for somebody's eyes, of all sessions. */
export function trust(home) {
  const element = h('section', { class: 'checks', 'aria-label': t('trust.title'), 'aria-live': 'polite' })
  const draw = list(element, ({ kind, room, item }) => (kind === 'comparison' ? comparison : certificate)(home, room, item),
    ({ room, kind, item }) => `${room.id} ${kind} ${item.id}`)
  return {
    element,
    update() {
      const all = (kind, name) => home.rooms.flatMap((room) => room[name].items.map((item) => ({ kind, room, item })))
      draw(home.canAct ? [...all('comparison', 'comparisons'), ...all('certificate', 'certificates')] : [])
    },
  }
}

function card(name, title, ...content) {
  return h('article', { class: 'card ring', 'aria-labelledby': title.id },
    h('div', { class: 'row' }, avatar(name).element, title), ...content)
}

function comparison(home, room, { id, displayName: name }) {
  const path = `${room.path}/comparisons/${id}`
  const answer = (matches) => () => home.attempt(() => home.gateway.patch(path, { matches }))
  const title = h('h2', { class: 'grow', id: `comparison-${id}` }, t('compare.title', { name }))
  const text = h('p', { class: 'hint' })
  const code = h('output', { class: 'code compared' })
  const questions = h('div', { class: 'row end' },
    h('button', { onclick: answer(false) }, t('compare.differ')),
    h('button', { class: 'primary', onclick: answer(true) }, t('compare.match')))
  const close = h('div', { class: 'row end' },
    h('button', { onclick: () => home.attempt(() => home.gateway.delete(path)) }, t('close')))
  const element = card(name, title, code, text, questions, close)
  return {
    element,
    update({ item }) {
      say(code, item.code ?? '')
      show(code, ['pending', 'answered'].includes(item.state))
      say(text, t(`compare.${item.state}`, { name }))
      set(element, 'data-state', item.state)
      show(questions, item.state === 'pending')
      show(close, ['matched', 'mismatched', 'failed'].includes(item.state))
    },
  }
}

function certificate(home, room, { id, displayName: name, chain, trusted, distrust }) {
  const remember = h('input', { type: 'checkbox' })
  const decide = (decision) => () => home.attempt(() => home.gateway.patch(`${room.path}/certificates/${id}`, {
    decision, remember: decision === 'trust' && remember.checked,
  }))
  const left = h('span', { class: 'hint', 'aria-hidden': 'true' })
  const title = h('h2', { class: 'grow', id: `certificate-${id}` }, t('certificate.title', { name }))
  const verdict = trusted ? t('certificate.trusted') : chain.length === 0 ? t('certificate.none')
    : t('certificate.distrusted', { why: distrust ?? '' })
  return {
    element: card(name, title,
      h('p', { class: 'hint' }, verdict),
      chain.length > 0 && h('ol', { class: 'chain' }, chain.map(link)),
      h('label', { class: 'check' }, remember, t('certificate.remember')),
      h('div', { class: 'row end' }, left,
        h('button', { onclick: decide('reject') }, t('certificate.reject')),
        h('button', { class: 'primary', onclick: decide('trust') }, t('certificate.trust')))),
    update: ({ item }) => say(left, item.expiresAt ? timeLeft(item.expiresAt) : ''),
  }
}

const commonName = (text) => /(?:^|, ?)CN ?= ?([^,]+)/.exec(text)?.[1] ?? text

/** A certificate of a chain, under the one that it vouches for. */
function link({ subject, issuer, validUntil, fingerprint }) {
  return h('li', {}, h('strong', {}, commonName(subject)),
    h('span', { class: 'hint' }, t('certificate.issuer', { issuer: commonName(issuer) })),
    validUntil && h('span', { class: 'hint' }, t('certificate.until', { time: date(validUntil) })),
    h('code', { class: 'cut', title: fingerprint }, fingerprint))
}
