// Pairing codes: making one, and those that are not used yet.

import { copyButton } from './copy.js'
import { h, say, show } from './dom.js'
import { joinLink } from './join-link.js'
import { rows, section } from './parts.js'
import { qrImage } from './qr.js'
import { t } from './texts.js'
import { duration, joined, sentence, timeLeft, worded } from './words.js'

const lives = [600, 3600, 86_400]

export function codes(home) {
  let made = null
  const role = h('select', { id: 'role' }, home.roles.map((name) => h('option', { value: name }, worded('role', name))))
  role.value = home.roles.includes('member') ? 'member' : home.roles[0]
  const life = h('select', { id: 'life' }, lives.map((seconds) => h('option', { value: seconds }, duration(seconds))))
  const error = h('p', { class: 'error', role: 'alert' })
  const text = h('output', { class: 'code' })
  const left = h('span', { class: 'hint' })
  const link = h('a', { class: 'cut' })
  const copy = copyButton(t('codes.copy'), () => link.href)
  const picture = h('div')
  const shown = h('div', { class: 'newcode', 'aria-live': 'polite' },
    h('div', { class: 'stack grow' }, text, left, link, h('div', { class: 'row' }, copy)), picture)
  const label = h('input', { id: 'code-label', maxlength: 63, autocomplete: 'off', placeholder: t('codes.labelExample') })
  const form = h('form', { class: 'row wrap bottom', onsubmit: make },
    h('div', { class: 'stack grow' }, h('label', { for: 'role' }, t('codes.role')), role),
    h('div', { class: 'stack' }, h('label', { for: 'life' }, t('codes.life')), life),
    h('div', { class: 'stack grow' }, h('label', { for: 'code-label' }, t('codes.label')), label),
    h('button', { class: 'primary' }, t('codes.make')))

  async function make(event) {
    event.preventDefault()
    say(error, '')
    try {
      const code = await home.gateway.post('/v1/pairing-codes', {
        role: role.value, seconds: Number(life.value), ...(label.value.trim() ? { label: label.value.trim() } : {}),
      })
      made = code
      // An earlier code may give another role.
      picture.replaceChildren()
      say(text, code.code)
      link.textContent = link.href = joinLink(home, code)
      const image = await qrImage(home.gateway, link.href, t('codes.qr'))
      if (made === code) picture.replaceChildren(image)
    } catch (problem) {
      say(error, sentence(problem))
    }
    home.changed()
  }

  const unused = rows(
    (code) => [code.label ?? worded('role', code.role), joined(
      code.label && worded('role', code.role), t('codes.left', { time: timeLeft(code.expiresAt) }),
      code.uses > 1 && t('codes.uses', { count: code.uses }))],
    (code) => h('button', {
      class: 'quiet', onclick: () => home.attempt(() => home.gateway.delete(`/v1/pairing-codes/${code.id}`)),
    }, t('revoke')))
  const none = h('p', { class: 'empty' }, t('codes.none'))
  const element = h('div', { class: 'stack' },
    section(t('codes.title'), h('div', { class: 'card stack' }, form, error, shown)),
    section(t('codes.unused'), unused.element, none))

  return {
    element,
    update() {
      const isOpen = Boolean(made) && Boolean(home.codes.get(made.id)) && timeLeft(made.expiresAt) !== ''
      show(shown, isOpen)
      if (isOpen) say(left, t('codes.use', { time: timeLeft(made.expiresAt) }))
      show(error, error.textContent !== '')
      const open = home.codes.items.filter((code) => timeLeft(code.expiresAt) !== '')
      unused.draw(open)
      show(none, open.length === 0)
    },
  }
}
