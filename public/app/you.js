// Who this browser is to others, and who may meet it.

import { avatar } from './avatar.js'
import { h, say, set, show } from './dom.js'
import { ask } from './question.js'
import { names, noName, sentence } from './words.js'

const meetings = [
  { how: 'adhoc', name: 'Everybody', says: 'Everyone nearby who chooses this too is connected with you at once.' },
  { how: 'ask', name: 'Who asks', says: 'Only people you accept.' },
  { how: 'nobody', name: 'Nobody', says: 'No one can see you. You see the others.' },
]

export function you(home) {
  const picture = avatar()
  const name = h('strong', { class: 'cut' })
  const kind = h('span', { class: 'hint cut' })
  const change = h('button', { class: 'quiet', onclick: () => open(form.hidden) }, 'Change')
  const cancel = h('button', { type: 'button', class: 'quiet', onclick: () => open(false) }, 'Cancel')
  const form = makeForm()
  const choice = h('fieldset', { class: 'choice' }, h('legend', {}, 'Who can connect with you'),
    h('div', { class: 'segments' }, meetings.map(({ how, name }) => h('label', {},
      h('input', {
        type: 'radio', name: 'meeting', value: how, onchange: () => choose(how),
        'aria-describedby': 'meeting-hint',
      }),
      h('span', {}, name)))))
  const hint = h('p', { id: 'meeting-hint', class: 'hint' })
  const element = h('section', { class: 'card you', 'aria-label': 'You' },
    h('div', { class: 'row' }, picture.element, h('div', { class: 'grow stack' }, name, kind), change),
    form, choice, hint)

  async function choose(how) {
    if (how !== 'adhoc') return home.attempt(() => home.meet(how))
    const { room } = home
    // Nothing is chosen before there is an answer.
    update()
    const answer = await ask(everybody(home, room))
    if (answer) await home.attempt(() => home.openToAll(answer === 'this' ? room : null))
    update()
    choice.querySelector('input:checked').focus()
  }

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
        const name = form.elements.displayName.value.trim()
        say(error, name ? '' : noName)
        if (!name || !await mayRename(home, name)) return form.elements.displayName.focus()
        try {
          await home.rename(name, form.elements.type.value.trim())
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
        cancel,
        h('button', { class: 'primary' }, 'Save')))
    return form
  }

  function update() {
    const me = home.me
    // Somebody who was let in without a name has no peer yet, and nothing else to do.
    if (!home.hasName && form.hidden) open(true)
    show(cancel, home.hasName)
    const shown = me?.displayName ?? home.name
    picture.update(shown, home.canAct && home.gateway.state === 'online')
    say(name, shown)
    say(kind, home.canAct ? `uses “${home.type}”` : 'the gateway’s own peer')
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

/** Who comes in, and what they read, before anybody can. */
function everybody(home, room) {
  const isUsed = Boolean(room?.isUsed)
  const people = room ? names(room.present) : ''
  return {
    title: 'Let everybody nearby join?',
    text: [
      `Everyone on this network who uses “${home.type}” and chooses “Everybody” is connected with you at once. You are not `
        + 'asked, and they need no code.',
      'They read and answer all that is said in the session from then on, and see who is in it. They do not see what was '
        + 'said before.',
      isUsed && `If you start a new session, the one${people ? ` with ${people}` : ' here'} stays as it is.`,
    ],
    answers: isUsed
      ? [{ value: 'this', name: 'Open this session' }, { value: 'new', name: 'Start a new session', kind: 'primary' }]
      : [{ value: 'this', name: 'Let everybody join', kind: 'primary' }],
  }
}

/** A new name is a new peer, and what the old one has goes with it. */
async function mayRename(home, name) {
  const used = home.rooms.filter((room) => room.isUsed)
  if (used.length === 0 || name === home.me?.displayName) return true
  return await ask({
    title: `Change your name to “${name}”?`,
    text: [
      `You leave ${used.length === 1 ? 'your session' : `your ${used.length} sessions`}: the others see you leave, and the `
        + 'messages and files in it are deleted for you. This cannot be undone.',
    ],
    answers: [{ value: 'rename', name: 'Change name and leave', kind: 'danger' }],
  }) !== null
}
