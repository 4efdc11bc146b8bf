// Bluetooth devices that want to be paired with the gateway's computer; operators compare numbers and decide.

import { h, list, say } from './dom.js'
import { t } from './texts.js'
import { timeLeft } from './words.js'

/** Cards in this element. They are not modal: whoever writes something goes on, and answers later. */
export function pairingCards(home, element) {
  const draw = list(element, (pairing) => card(home, pairing))
  return { update: () => draw(home.openPairings) }
}

function card(home, { id, device, displayName, number }) {
  const answer = (state) => async () => {
    for (const button of element.querySelectorAll('button')) button.disabled = true
    await home.attempt(() => home.gateway.patch(`/v1/bluetooth-pairings/${id}`, { state }))
    for (const button of element.querySelectorAll('button')) button.disabled = false
  }
  const title = h('h2', { class: 'grow', id: `bluetooth-${id}` }, t('bluetooth.title', { name: displayName ?? device }))
  const text = h('p', { class: 'hint', id: `bluetooth-text-${id}` }, t(number ? 'bluetooth.compare' : 'bluetooth.noNumber'))
  const left = h('span', { class: 'hint', 'aria-hidden': 'true' })
  const element = h('div', { class: 'card ring', role: 'dialog', 'aria-labelledby': title.id, 'aria-describedby': text.id },
    h('div', { class: 'row' }, title, left),
    number && h('output', { class: 'code compared' }, number),
    text,
    h('p', { class: 'hint' }, t('bluetooth.about', { device })),
    h('div', { class: 'row end' },
      h('button', { onclick: answer('declined') }, t('decline')),
      h('button', { class: 'primary', onclick: answer('accepted') }, t('accept'))))
  return { element, update: ({ expiresAt }) => say(left, timeLeft(expiresAt)) }
}
