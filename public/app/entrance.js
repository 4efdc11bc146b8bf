// Pairing: a code from the gateway, and a name.

import { h, say, set, show } from './dom.js'
import { keep, settings } from './settings.js'
import { noName, sentence } from './words.js'
import { unprotected } from './notes.js'

const codeLength = 8

/** As codes are shown: in capitals, with a dash in the middle. */
function asCode(text) {
  const letters = text.toUpperCase().replace(/[^A-Z0-9]/g, '').slice(0, codeLength)
  return letters.length > codeLength / 2 ? `${letters.slice(0, 4)}-${letters.slice(4)}` : letters
}

/**
 * The code of an address such as `https://box:7777/#code=ABCD-EFGH`, which no server has seen; it leaves the address bar
 * and the history. The empty text where there is none.
 */
export function takeCode() {
  const code = /^#code=([A-Za-z0-9-]{1,16})$/.exec(location.hash)?.[1]
  if (code === undefined) return ''
  history.replaceState(null, '', location.pathname + location.search)
  return asCode(code)
}

export function entrance({ gateway, about, problem, invited, done }) {
  if (!about) return waiting()
  const wasKnown = Boolean(settings().csrf)
  const code = h('input', {
    id: 'code', class: 'code', autocomplete: 'off', autocapitalize: 'characters', spellcheck: 'false', required: true,
    placeholder: 'ABCD-EFGH', maxlength: 9, 'aria-describedby': 'code-hint entrance-error', inputmode: 'text',
    oninput: () => { if (code.selectionStart === code.value.length) code.value = asCode(code.value) },
  })
  const name = h('input', {
    id: 'name', autocomplete: 'nickname', required: true, maxlength: 63, placeholder: 'Ada',
    'aria-describedby': 'name-hint entrance-error',
  })
  code.value = invited ?? ''
  name.value = settings().name
  const error = h('p', { id: 'entrance-error', class: 'error', role: 'alert' })
  const button = h('button', { class: 'primary wide' }, 'Come in')

  const pair = async (event) => {
    event.preventDefault()
    const wanted = name.value.trim()
    for (const field of [code, name]) set(field, 'aria-invalid', null)
    say(error, '')
    if (!wanted) return refuse(name, noName)
    button.disabled = true
    try {
      const client = await gateway.pair(code.value, { name: wanted, cookie: true })
      keep({ csrf: client.csrf, name: wanted })
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

  const why = h('p', { class: 'hint' }, problem && wasKnown
    ? 'This gateway does not know this browser any more: it was started anew, or somebody has signed it out.'
    : 'This browser is new here. A code lets it in, once.')
  const element = h('main', { class: 'entrance' },
    h('form', { class: 'card', onsubmit: pair, novalidate: false },
      h('img', { src: 'icon.svg', alt: '', width: 44, height: 44 }),
      h('h1', {}, about.name),
      why,
      h('label', { for: 'code' }, 'Pairing code'),
      code,
      h('p', { id: 'code-hint', class: 'hint' },
        'The gateway shows one where it was started; whoever is an operator makes more on the page “Access”.'),
      h('label', { for: 'name' }, 'Your name'),
      name,
      h('p', { id: 'name-hint', class: 'hint' }, 'So that people nearby know who you are.'),
      error,
      button),
    unprotected(about))
  queueMicrotask(() => (code.value ? name : code).focus())
  return { element, update: () => show(error, error.textContent !== '') }
}

function waiting() {
  return {
    element: h('main', { class: 'entrance' },
      h('div', { class: 'card', role: 'status' },
        h('img', { src: 'icon.svg', alt: '', width: 44, height: 44 }),
        h('h1', {}, 'Vicinity'),
        h('p', {}, 'The gateway does not answer.'),
        h('p', { class: 'hint' }, 'It may have stopped, or the network between is down. This page goes on trying.'))),
  }
}
