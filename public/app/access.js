// Who may come in: this browser, and for operators everybody else.

import { h, list, say, set, show } from './dom.js'
import { ask } from './question.js'
import { dateAndTime, role as roleWords, sentence, timeLeft } from './words.js'

const lives = [['600', '10 minutes'], ['3600', '1 hour'], ['86400', '1 day']]

export function access(home) {
  const own = ownPart(home)
  const operator = home.isOperator ? operatorPart(home) : null
  const element = h('section', { class: 'sheet', 'aria-label': 'Access' },
    h('h2', {}, 'This browser'), own,
    operator ? operator.element : h('p', { class: 'hint' }, 'Whoever is an operator lets others in and out on this page.'))
  return { element, update: () => element.hidden || operator?.update() }
}

function ownPart(home) {
  const leave = h('button', { onclick: async () => {
    const answer = await ask({
      title: 'Delete your data and leave?',
      text: [
        'Your name, your sessions with their messages, and your files are deleted at this gateway, and those who are '
          + 'connected to you see you leave. They keep what they have.',
        'This cannot be undone. “Save my data” gives you a copy first.',
      ],
      answers: [{ value: 'delete', name: 'Delete and leave', kind: 'danger' }],
    })
    if (answer) await home.attempt(() => home.deleteAll())
  } }, 'Delete my data and leave')

  return h('section', { class: 'card stack' },
    h('div', { class: 'row wrap' },
      h('div', { class: 'grow stack' }, h('strong', {}, home.client.name),
        h('span', { class: 'hint' }, roleWords(home.client.role))),
      h('a', { class: 'button', href: home.gateway.exportAddress, download: true }, 'Save my data'), leave))
}

function operatorPart(home) {
  let made = null
  const role = h('select', { id: 'role' }, home.roles.map((name) => h('option', { value: name }, roleWords(name))))
  role.value = home.roles.includes('member') ? 'member' : home.roles[0]
  const life = h('select', { id: 'life' }, lives.map(([value, name]) => h('option', { value }, name)))
  const error = h('p', { class: 'error', role: 'alert' })
  const text = h('output', { class: 'code' })
  const left = h('span', { class: 'hint' })
  const copy = h('button', { hidden: !navigator.clipboard, onclick: async () => {
    await navigator.clipboard.writeText(made.code)
    say(copy, 'Copied')
  } }, 'Copy')
  const shown = h('div', { class: 'newcode', 'aria-live': 'polite' }, text, left, copy)
  const form = h('form', { class: 'row wrap bottom', onsubmit: make },
    h('div', { class: 'stack grow' }, h('label', { for: 'role' }, 'For somebody who'), role),
    h('div', { class: 'stack' }, h('label', { for: 'life' }, 'Good for'), life),
    h('button', { class: 'primary' }, 'Make a code'))

  async function make(event) {
    event.preventDefault()
    say(error, '')
    try {
      made = await home.gateway.post('/v1/pairing-codes', { role: role.value, seconds: Number(life.value) })
      say(copy, 'Copy')
    } catch (problem) {
      say(error, sentence(problem))
    }
    home.changed()
  }

  const codes = h('ul', { class: 'rows' })
  const drawCodes = list(codes, (code) => row(
    () => [roleWords(code.role), `open for ${timeLeft(code.expiresAt) || 'a moment'}`],
    'Revoke', () => home.gateway.delete(`/v1/pairing-codes/${code.id}`)))
  const clients = h('ul', { class: 'rows' })
  const drawClients = list(clients, (client) => row(
    () => [client.id === home.client.id ? `${client.name} (this browser)` : client.name,
      `${client.role}, since ${dateAndTime(client.createdAt)}`],
    client.id === home.client.id ? null : 'Revoke', () => revoke(client)))
  const noCodes = h('p', { class: 'empty' }, 'No code is open.')

  async function revoke({ id, name }) {
    const answer = await ask({
      title: `Revoke “${name}”?`,
      text: [
        `“${name}” is signed out at once, and needs a new code to come back. Its sessions at this gateway are left, and its `
          + 'messages and files are deleted.',
        'This cannot be undone.',
      ],
      answers: [{ value: 'revoke', name: 'Revoke and delete', kind: 'danger' }],
    })
    if (answer) await home.gateway.delete(`/v1/clients/${id}`)
  }

  function row(words, name, work) {
    const first = h('strong', { class: 'cut' })
    const second = h('span', { class: 'hint' })
    const button = name && h('button', { class: 'quiet', onclick: () => home.attempt(work) }, name)
    return {
      element: h('li', { class: 'row' }, h('div', { class: 'grow stack' }, first, second), button),
      update() {
        const [a, b] = words()
        say(first, a)
        say(second, b)
        set(first, 'title', a)
      },
    }
  }

  const element = h('div', { class: 'stack sections' },
    h('h2', {}, 'Let somebody in'), h('div', { class: 'card stack' }, form, error, shown),
    h('h2', {}, 'Open codes'), codes, noCodes,
    h('h2', {}, 'Who has come in'), clients)

  return {
    element,
    update() {
      const isOpen = Boolean(made) && Boolean(home.codes.get(made.id)) && timeLeft(made.expiresAt) !== ''
      show(shown, isOpen)
      say(text, isOpen ? made.code : '')
      if (isOpen) say(left, `for one use, within ${timeLeft(made.expiresAt)}`)
      show(error, error.textContent !== '')
      const open = home.codes.items.filter((code) => timeLeft(code.expiresAt) !== '')
      drawCodes(open)
      show(noCodes, open.length === 0)
      drawClients(home.clients.items)
    },
  }
}
