// The Wi-Fi radios of the gateway's machine, for networks without an access point: groups, which phones join, and meshes.

import { h, list, show } from './dom.js'
import { section } from './parts.js'
import { radioCard } from './radio-card.js'
import { radioTrouble } from './radio-trouble.js'
import { t } from './texts.js'

/** How often they are asked for: devices come and go in a network, and a radio is seldom plugged in. */
const [networkInterval, otherInterval] = [5_000, 15_000]

export function radios(home) {
  let asked = 0
  /** The requests that were made: an answer that another one has overtaken is old. */
  let latest = 0
  let isAsking = false
  let interval = otherInterval
  const trouble = radioTrouble()
  const cards = h('ul', { class: 'stack radios' })
  const draw = list(cards, (radio) => radioCard(home, radio, ask))
  const none = h('p', { class: 'empty', hidden: true }, t('radios.none'))
  const element = section(t('radios.title'), h('p', { class: 'hint' }, t('radios.hint')), trouble.element, none, cards)

  async function ask() {
    latest += 1
    const number = latest
    asked = Date.now()
    isAsking = true
    try {
      const { items, problem } = await home.gateway.get('/v1/radios')
      if (number !== latest) return
      // Without the right to ask for it there is nothing to start.
      draw(items.map((radio) => ({ ...radio, isForbidden: problem?.rule === 'netdev' })))
      trouble.draw(items.length > 0 && problem)
      show(none, items.length === 0)
      interval = items.some(({ network }) => network) ? networkInterval : otherInterval
    } catch (problem) {
      // Without an answer the page says so by itself, and what was known stays.
      if (problem.kind !== 'offline') trouble.draw(problem)
    }
    if (number === latest) isAsking = false
  }

  return {
    element,
    update() {
      if (!isAsking && Date.now() - asked >= interval) ask()
    },
  }
}
