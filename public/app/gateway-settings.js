// Settings of the gateway that an admin may change while it runs.

import { h, say, show } from './dom.js'
import { section } from './parts.js'
import { t } from './texts.js'
import { sentence } from './words.js'

const levels = ['error', 'warning', 'info', 'debug']
const gigabyte = 1e9
/** The limits that may be changed, and the unit of each. */
const limits = {
  peersPerClient: 1, sessionsPerPeer: 1, resourcesPerSession: 1, resourceBytes: gigabyte, resourceBytesPerClient: gigabyte,
  historyBytesPerClient: gigabyte,
}

/** With as many digits as people compare. */
const shown = (value, unit) => String(unit === 1 ? value : Number((value / unit).toPrecision(4)))

export function gatewaySettings(home) {
  const name = h('input', { id: 'setting-name', required: true, maxlength: 63, autocomplete: 'off' })
  const level = h('select', { id: 'setting-log' }, levels.map((value) => h('option', { value }, t(`settings.${value}`))))
  const numbers = Object.entries(limits).map(([key, unit]) => [key, unit, h('input', {
    id: `setting-${key}`, type: 'number', min: unit === 1 ? 1 : 0, step: unit === 1 ? 1 : 'any', required: true, inputmode: 'decimal',
  })])
  const told = h('p', { class: 'hint', role: 'status' })
  const error = h('p', { class: 'error', role: 'alert', hidden: true })
  const field = (text, input) => h('div', { class: 'stack' }, h('label', { for: input.id }, text), input)
  const form = h('form', { class: 'card stack', onsubmit: save },
    h('div', { class: 'settings' }, field(t('settings.name'), name), field(t('settings.logLevel'), level),
      numbers.map(([key, , input]) => field(t(`settings.${key}`), input))),
    error, h('div', { class: 'row' }, h('button', { class: 'primary' }, t('save')), told))
  let drawn = ''

  /** The fields that somebody has changed: the others stay with the gateway's options. */
  function changes() {
    const { about } = home
    const changed = numbers.filter(([key, unit, input]) => input.value !== shown(about.limits[key], unit))
    return {
      ...(name.value.trim() !== about.name && { name: name.value.trim() }),
      ...(level.value !== about.settings.logLevel && { logLevel: level.value }),
      limits: Object.fromEntries(changed.map(([key, unit, input]) => [key, Math.round(Number(input.value) * unit)])),
    }
  }

  async function save(event) {
    event.preventDefault()
    show(error, false)
    say(told, '')
    try {
      home.about = await home.gateway.patch('/v1/gateway', changes())
      say(told, t('settings.saved'))
      home.changed()
    } catch (problem) {
      say(error, sentence(problem))
      show(error, true)
    }
  }

  return {
    element: section(t('settings.title'), h('p', { class: 'hint' }, t('settings.hint')), form),
    /** Draws the values of the gateway; a text that is being typed stays until they change. */
    update() {
      const { about } = home
      const now = JSON.stringify([about.name, about.settings, about.limits])
      if (now === drawn || !about.settings) return
      drawn = now
      name.value = about.name
      level.value = about.settings.logLevel
      for (const [key, unit, input] of numbers) input.value = shown(about.limits[key], unit)
    },
  }
}
