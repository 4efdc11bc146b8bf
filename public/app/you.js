// Who this browser is to others, and who may meet it.

import { avatar } from './avatar.js'
import { h, say, set, show } from './dom.js'
import { sentence } from './words.js'

const meetings = [
  { how: 'adhoc', name: 'Everybody', says: 'All who choose this meet at once.' },
  { how: 'ask', name: 'Who asks', says: 'You say yes or no to each.' },
  { how: 'nobody', name: 'Nobody', says: 'You see others; they do not see you.' },
]

export function you(home) {
  const picture = avatar()
  const name = h('strong', { class: 'cut' })
  const kind = h('span', { class: 'hint cut' })
  const change = h('button', { class: 'quiet', onclick: () => open(form.hidden) }, 'Change')
  const form = makeForm()
  const choice = h('fieldset', { class: 'choice' }, h('legend', {}, 'Who meets you'),
    h('div', { class: 'segments' }, meetings.map(({ how, name }) => h('label', {},
      h('input', {
        type: 'radio', name: 'meeting', value: how, onchange: () => home.attempt(() => home.meet(how)),
        'aria-describedby': 'meeting-hint',
      }),
      h('span', {}, name)))))
  const hint = h('p', { id: 'meeting-hint', class: 'hint' })
  const element = h('section', { class: 'card you', 'aria-label': 'You' },
    h('div', { class: 'row' }, picture.element, h('div', { class: 'grow stack' }, name, kind), change),
    form, choice, hint)

  function open(isOpen) {
    show(form, isOpen)
    set(change, 'aria-expanded', String(isOpen))
    if (!isOpen) return change.focus()
    form.elements.displayName.value = home.name
    form.elements.type.value = home.type
    form.elements.displayName.focus()
  }

  function makeForm() {
    const error = h('p', { class: 'error', role: 'alert' })
    const form = h('form', {
      class: 'stack', hidden: true,
      onsubmit: async (event) => {
        event.preventDefault()
        say(error, '')
        try {
          await home.rename(form.elements.displayName.value.trim(), form.elements.type.value.trim())
          open(false)
        } catch (problem) {
          say(error, sentence(problem))
        }
      },
    },
      h('label', { for: 'displayName' }, 'Your name'),
      h('input', { id: 'displayName', name: 'displayName', required: true, maxlength: 63 }),
      h('label', { for: 'type' }, 'Meet those who use'),
      h('input', {
        id: 'type', name: 'type', required: true, maxlength: 15, pattern: '[a-z0-9\\-]+', 'aria-describedby': 'type-hint',
        title: 'Small letters, digits and dashes, at most 15', autocapitalize: 'none', spellcheck: 'false',
      }),
      h('p', { id: 'type-hint', class: 'hint' }, 'Only those with the same word find each other. With another name you leave your sessions.'),
      error,
      h('div', { class: 'row end' },
        h('button', { type: 'button', class: 'quiet', onclick: () => open(false) }, 'Cancel'),
        h('button', { class: 'primary' }, 'Save')))
    return form
  }

  function update() {
    const me = home.me
    const shown = me?.displayName ?? home.name
    picture.update(shown, home.canAct && home.gateway.state === 'online')
    say(name, shown)
    say(kind, home.canAct ? `among “${home.type}”` : 'the gateway’s own peer')
    show(change, home.canAct)
    show(choice, home.canAct)
    for (const input of choice.querySelectorAll('input')) input.checked = input.value === home.meeting
    const failed = home.advertisers.items.find((one) => one.peer === home.peerID && one.state === 'failed')
    show(hint, home.canAct)
    say(hint, failed ? `You cannot be seen: ${failed.problem.detail}` : meetings.find((one) => one.how === home.meeting).says)
    hint.classList.toggle('error', Boolean(failed))
  }

  return { element, update }
}
