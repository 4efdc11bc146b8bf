// Invitations that wait for an answer; they lie above the page, so that nothing moves under a finger.

import { avatar } from './avatar.js'
import { h, list, say, show } from './dom.js'
import { t } from './texts.js'
import { timeLeft } from './words.js'

/** `open` is called once a session was joined. */
export function invitations(home, open) {
  const element = h('section', { class: 'invitations', 'aria-label': t('invitations.title'), 'aria-live': 'assertive' })
  const draw = list(element, card)
  return { element, update: () => draw(home.incoming) }

  function card(invitation) {
    const name = invitation.displayName ?? t('somebody')
    const picture = avatar(name)
    const left = h('span', { class: 'hint', 'aria-hidden': 'true' })
    const isText = invitation.context && invitation.encoding !== 'base64'
    const note = h('p', { class: 'quote', id: `note-${invitation.id}` }, isText ? invitation.context : '')
    show(note, Boolean(isText))
    const answer = (work) => async () => {
      for (const button of element.querySelectorAll('button')) button.disabled = true
      await home.attempt(work)
      for (const button of element.querySelectorAll('button')) button.disabled = false
    }
    const accept = async () => {
      await home.accept(invitation)
      open()
    }
    const title = h('h2', { class: 'grow', id: `invitation-${invitation.id}` }, t('invitations.invites', { name }))
    // It is not modal: whoever writes something goes on, and answers later.
    const element = h('div', { class: 'card ring', role: 'dialog', 'aria-labelledby': title.id, 'aria-describedby': isText && note.id },
      h('div', { class: 'row' }, picture.element, title, left),
      note,
      h('div', { class: 'row end' },
        h('button', { class: 'quiet', onclick: answer(() => home.block(invitation.from)) }, t('block')),
        h('button', { onclick: answer(() => home.decline(invitation)) }, t('decline')),
        h('button', { class: 'primary', onclick: answer(accept) }, t('accept'))))
    return { element, update: ({ expiresAt }) => say(left, expiresAt ? timeLeft(expiresAt) : '') }
  }
}
