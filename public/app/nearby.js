// Who is nearby, and asking them in.

import { avatar } from './avatar.js'
import { h, list, say, show } from './dom.js'
import { typeByDefault } from './settings.js'
import { away, invitationEnd } from './words.js'

export function nearby(home) {
  const people = h('ul', { class: 'people' })
  const draw = list(people, (peer) => person(home, peer))
  const count = h('span', { class: 'hint' })
  const empty = h('div', { class: 'empty' })
  const discovery = h('p', { class: 'discovery', role: 'status' })
  const look = h('button', { class: 'quiet', onclick: () => home.attempt(() => home.look(!home.isLooking)) })
  const element = h('section', { class: 'nearby', 'aria-label': 'Nearby' },
    h('div', { class: 'row between' }, h('h2', {}, 'Nearby'), count, look), people, empty, discovery)

  function update() {
    const found = [...home.nearby].sort((a, b) => a.displayName.localeCompare(b.displayName))
    draw(found)
    say(count, found.length ? String(found.length) : '')
    show(empty, found.length === 0)
    const command = home.type === typeByDefault ? 'vicinity adhoc' : `vicinity adhoc ${home.type}`
    const problem = home.discoveryProblem
    show(discovery, problem !== null)
    say(discovery, problem ?? '')
    show(look, home.canAct)
    say(look, home.isLooking ? 'Stop looking' : 'Look for others')
    say(empty, home.canAct && !home.isLooking
      ? 'You are not looking for others. Those who find you can still invite you.'
      : home.canAct
      ? `Nobody is here yet. Open this page on another device, or run “${command}” on a computer of this network.`
      : 'The gateway’s own peer sees nobody, or does not look.')
  }

  return { element, update }
}

function person(home, { id }) {
  const picture = avatar()
  const name = h('strong', { class: 'cut' })
  const state = h('span', { class: 'hint' })
  const invite = h('button', { onclick: () => open(true) }, 'Invite')
  const takeBack = h('button', {
    class: 'quiet', onclick: () => home.attempt(() => home.takeBack(home.invitationTo(id))),
  }, 'Take back')
  const unblock = h('button', { class: 'quiet', onclick: () => home.attempt(() => home.block(id, false)) }, 'Unblock')
  const note = h('input', { maxlength: 500, placeholder: 'A word with it, if you like', 'aria-label': 'A word with the invitation' })
  const form = h('form', {
    class: 'row', hidden: true,
    onsubmit: (event) => {
      event.preventDefault()
      open(false)
      home.attempt(() => home.invite(id, note.value.trim()))
    },
    onkeydown: (event) => event.key === 'Escape' && open(false),
  }, note, h('button', { class: 'primary' }, 'Send'))
  const element = h('li', {},
    h('div', { class: 'row' }, picture.element, h('div', { class: 'grow stack' }, name, state), invite, takeBack, unblock), form)

  function open(isOpen) {
    show(form, isOpen)
    show(invite, !isOpen)
    if (isOpen) note.focus()
    else invite.focus()
  }

  return {
    element,
    update(peer) {
      const standing = home.room?.standing(id)?.state
      const invitation = home.invitationTo(id)
      const isAsked = invitation?.state === 'pending'
      const isIn = standing === 'connected' || standing === 'connecting'
      picture.update(peer.displayName, standing === 'connected' && !peer.awaySince)
      say(name, peer.displayName)
      const isBlocked = home.isBlocked(id)
      say(state, isBlocked ? 'Blocked' : isIn ? (standing === 'connected' ? joined('In this session', away(peer.awaySince)) : 'Connecting …') : words(invitation, peer))
      show(takeBack, isAsked && !isIn && home.canAct)
      show(unblock, isBlocked && home.canAct)
      const mayInvite = home.canAct && Boolean(home.room) && !isAsked && !isIn && !isBlocked
      if (!mayInvite) show(form, false)
      show(invite, mayInvite && form.hidden)
    },
  }
}

const joined = (...texts) => texts.filter(Boolean).join(' · ')

function words(invitation, peer) {
  if (invitation?.state === 'pending') return joined('Asked; no answer yet', away(peer.awaySince))
  const info = Object.entries(peer.discoveryInfo ?? {}).map(([key, value]) => `${key}: ${value}`).join(' · ')
  if (peer.awaySince) return joined(away(peer.awaySince), info)
  if (!invitation || invitation.state === 'accepted') return info
  const end = invitationEnd(invitation.state)
  return `${end.charAt(0).toUpperCase()}${end.slice(1)}`
}
