// The profile of this browser: its name, and the peers that can connect to it.

import { avatar } from './avatar.js'
import { h, say, set, show } from './dom.js'
import { ask } from './question.js'
import { t } from './texts.js'
import { names, sentence } from './words.js'

/** In this order, each with a name and a sentence: `meeting.adhoc`, `meeting.adhocHint`. */
const meetings = ['adhoc', 'ask', 'nobody']

export function profile(home) {
  const picture = avatar()
  const name = h('strong', { class: 'cut' })
  const kind = h('span', { class: 'hint cut' })
  const change = h('button', { class: 'quiet', onclick: () => open(form.hidden) }, t('change'))
  const cancel = h('button', { type: 'button', class: 'quiet', onclick: () => open(false) }, t('cancel'))
  const form = makeForm()
  const choice = h('fieldset', { class: 'choice' }, h('legend', {}, t('meeting.title')),
    h('div', { class: 'segments' }, meetings.map((how) => h('label', {},
      h('input', {
        type: 'radio', name: 'meeting', value: how, onchange: () => choose(how),
        'aria-describedby': 'meeting-hint',
      }),
      h('span', {}, t(`meeting.${how}`))))))
  const hint = h('p', { id: 'meeting-hint', class: 'hint' })
  const element = h('section', { class: 'card you', 'aria-label': t('you.title') },
    h('div', { class: 'row' }, picture.element, h('div', { class: 'grow stack' }, name, kind), change),
    form, choice, hint)

  async function choose(how) {
    if (how !== 'adhoc') return home.attempt(() => home.meet(how))
    const { room } = home
    // Nothing is chosen before there is an answer.
    update()
    const answer = await ask(everyone(home, room))
    focusChoice()
    if (answer) await home.attempt(() => home.openToAll(answer === 'this' ? room : null))
    update()
    // Somebody may have gone on elsewhere meanwhile.
    if (choice.contains(document.activeElement)) focusChoice()
  }

  function focusChoice() { choice.querySelector('input:checked').focus() }

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
        say(error, name ? '' : t('name.missing'))
        if (!name || !await mayRename(home, name)) return form.elements.displayName.focus()
        try {
          await home.rename(name, form.elements.type.value.trim())
          open(false)
        } catch (problem) {
          say(error, sentence(problem))
        }
      },
    },
      h('label', { for: 'displayName' }, t('name.label')),
      h('input', { id: 'displayName', name: 'displayName', required: true, maxlength: 63, autocomplete: 'nickname' }),
      h('label', { for: 'type' }, t('group.label')),
      h('input', {
        id: 'type', name: 'type', required: true, maxlength: 15, pattern: '[a-z0-9\\-]+', 'aria-describedby': 'type-hint',
        title: t('group.rule'), autocapitalize: 'none', spellcheck: 'false', autocomplete: 'off',
      }),
      h('p', { id: 'type-hint', class: 'hint' }, t('group.hint')),
      error,
      h('div', { class: 'row end' },
        cancel,
        h('button', { class: 'primary' }, t('save'))))
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
    say(kind, home.canAct ? t('group.named', { type: home.type }) : t('you.gateway'))
    show(change, home.canAct)
    show(choice, home.canAct)
    for (const input of choice.querySelectorAll('input')) input.checked = input.value === home.meeting
    const failed = home.advertisers.items.find((one) => one.peer === home.peerID && one.state === 'failed')
    show(hint, home.canAct)
    say(hint, failed ? t('meeting.failed', { detail: sentence(failed.problem) }) : t(`meeting.${home.meeting}Hint`))
    hint.classList.toggle('error', Boolean(failed))
  }

  return { element, update }
}

/** The question before everybody can join: who joins, and what they can read. */
function everyone(home, room) {
  const isUsed = Boolean(room?.isUsed)
  const people = room ? names(room.present) : ''
  return {
    title: t('everyone.question'),
    text: [
      t('everyone.who', { type: home.type }),
      t('everyone.what'),
      isUsed && (people ? t('everyone.stays', { people }) : t('everyone.staysHere')),
    ],
    answers: isUsed
      ? [{ value: 'this', name: t('everyone.this') }, { value: 'new', name: t('everyone.new'), kind: 'primary' }]
      : [{ value: 'this', name: t('everyone.yes'), kind: 'primary' }],
  }
}

/** A new name is a new peer, and what the old one has goes with it. */
async function mayRename(home, name) {
  const count = home.rooms.filter((room) => room.isUsed).length
  if (count === 0 || name === home.me?.displayName) return true
  return await ask({
    title: t('rename.question', { name }),
    text: [t('rename.text', { count })],
    answers: [{ value: 'rename', name: t('rename.yes'), kind: 'danger' }],
  }) !== null
}
