// Joining: a pairing code from the gateway, and a name.

import { deviceName } from './device.js'
import { h, say, set, show } from './dom.js'
import { asCode, behind, readLink } from './join-link.js'
import { languageChoice } from './language.js'
import { unprotected } from './notes.js'
import { keep, settings } from './settings.js'
import { t } from './texts.js'
import { sentence } from './words.js'

/** The code in the fragment of the address, which leaves the address bar and the history. */
export function takeLink() {
  const link = readLink(location.hash)
  if (link) history.replaceState(null, '', location.pathname + location.search)
  return link
}

const logo = () => h('img', { src: 'icon.svg', alt: '', width: 48, height: 48 })

export function join({ gateway, about, problem, invited, done, speak }) {
  if (!about) return waiting()
  const wasKnown = Boolean(settings().csrf)
  const guest = invited?.guest ?? null
  const code = h('input', {
    id: 'code', class: 'code', autocomplete: 'off', autocapitalize: 'characters', spellcheck: 'false', required: true,
    placeholder: 'ABCD-EFGH', maxlength: 9, 'aria-describedby': 'code-hint join-error', inputmode: 'text',
    oninput: () => { if (code.selectionStart === code.value.length) code.value = asCode(code.value) },
  })
  const name = h('input', {
    id: 'name', autocomplete: 'nickname', required: true, maxlength: 63, placeholder: t('join.nameExample'),
    'aria-describedby': 'name-hint join-error',
  })
  code.value = invited?.code ?? ''
  name.value = settings().name
  const error = h('p', { id: 'join-error', class: 'error', role: 'alert' })
  const button = h('button', { class: 'primary wide' }, t('join.button'))

  const pair = async (event) => {
    event.preventDefault()
    const wanted = name.value.trim()
    for (const field of [code, name]) set(field, 'aria-invalid', null)
    say(error, '')
    if (!wanted) return refuse(name, t('name.missing'))
    button.disabled = true
    try {
      const client = await gateway.pair(code.value, { name: wanted, cookie: true })
      keep({ csrf: client.csrf, name: wanted, guest })
      await done()
    } catch (problem) {
      button.disabled = false
      refuse(problem.field === 'name' ? name : code, sentence(problem))
    }
  }

  function refuse(field, why) {
    set(field, 'aria-invalid', 'true')
    say(error, why)
    show(error, true)
    field.focus()
    field.select()
  }

  const element = h('main', { class: 'join' },
    h('form', { class: 'card', onsubmit: pair, novalidate: false },
      logo(),
      h('h1', {}, guest?.peer ? t('wall.name') : about.name),
      h('p', { class: 'hint' }, guest ? t(guest.peer ? 'guest.why' : 'guest.whyRoom') : t(problem && wasKnown ? 'join.signedOut' : 'join.why')),
      // The link has brought it.
      guest ? [] : [
        h('label', { for: 'code' }, t('join.code')), code,
        h('p', { id: 'code-hint', class: 'hint' }, t('join.codeHint')),
      ],
      h('label', { for: 'name' }, t('name.label')),
      name,
      h('p', { id: 'name-hint', class: 'hint' }, t('join.nameHint')),
      error,
      button),
    unprotected(about, () => behind({ code: asCode(code.value), guest })),
    languageChoice(speak))
  queueMicrotask(() => (code.value ? name : code).focus())
  if (!name.value) suggest(name)
  return { element, update: () => show(error, error.textContent !== '') }
}

/** The name of the device as a suggestion, until somebody types over it. */
async function suggest(input) {
  const suggested = await deviceName()
  if (input.value !== '' || suggested === '') return
  input.value = suggested
  input.addEventListener('focus', () => input.value === suggested && input.select())
  if (document.activeElement === input) input.select()
}

function waiting() {
  return {
    element: h('main', { class: 'join' },
      h('div', { class: 'card', role: 'status' },
        logo(), h('h1', {}, t('app.name')), h('p', {}, t('join.noAnswer')), h('p', { class: 'hint' }, t('join.noAnswerHint')))),
  }
}
