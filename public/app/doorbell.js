// Those who ask to be let in; they lie above the page, so that nothing moves under a finger.

import { avatar } from './avatar.js'
import { h, list, say, show } from './dom.js'
import { timeLeft } from './words.js'

export function doorbell(home) {
  const element = h('section', { class: 'doorbell', 'aria-label': 'Invitations', 'aria-live': 'assertive' })
  const draw = list(element, ring)
  return { element, update: () => draw(home.incoming) }

  function ring(invitation) {
    const picture = avatar(invitation.displayName)
    const left = h('span', { class: 'hint', 'aria-hidden': 'true' })
    const note = h('p', { class: 'quote' })
    const isText = invitation.context && invitation.encoding !== 'base64'
    say(note, isText ? invitation.context : '')
    show(note, Boolean(isText))
    const answer = (work) => async (event) => {
      for (const button of element.querySelectorAll('button')) button.disabled = true
      await home.attempt(work)
      for (const button of element.querySelectorAll('button')) button.disabled = false
    }
    const element = h('article', { class: 'card ring' },
      h('div', { class: 'row' }, picture.element,
        h('p', { class: 'grow' }, h('strong', {}, invitation.displayName ?? 'Somebody'), ' invites you'), left),
      note,
      h('div', { class: 'row end' },
        h('button', { class: 'quiet', onclick: answer(() => home.block(invitation.from)) }, 'Block'),
        h('button', { onclick: answer(() => home.decline(invitation)) }, 'Decline'),
        h('button', { class: 'primary', onclick: answer(() => home.accept(invitation)) }, 'Accept')))
    return { element, update: ({ expiresAt }) => say(left, expiresAt ? timeLeft(expiresAt) : '') }
  }
}
