// The list of people nearby, with invitations to them.

import { avatar } from './avatar.js'
import { h, icon, list, say, show, whenChanged } from './dom.js'
import { verified } from './icons.js'
import { typeByDefault } from './settings.js'
import { t } from './texts.js'
import { away, joined, time, worded } from './words.js'

/** Fewer are seen at a glance. */
const searchedMin = 8
const byName = new Intl.Collator()

/** `open` is called to go to the session. */
export function nearby(home, open) {
  const people = h('ul', { class: 'people' })
  const draw = list(people, (peer) => person(home, peer, open))
  const count = h('span', { role: 'status' })
  const group = h('span', { class: 'hint grow' })
  const search = h('input', {
    type: 'search', class: 'search', 'aria-label': t('nearby.search'), placeholder: t('nearby.search'), oninput: () => update(),
  })
  const empty = h('div', { class: 'empty' })
  const discovery = h('p', { class: 'discovery', role: 'status' })
  const pulse = h('span', { class: 'pulse', 'aria-hidden': 'true' })
  const look = h('button', { class: 'quiet', onclick: () => home.attempt(() => home.look(!home.isLooking)) })
  const missed = missedList(home)
  const element = h('section', { class: 'nearby', 'aria-label': t('nearby.title') },
    h('h2', { class: 'count' }, count), h('div', { class: 'row' }, pulse, group, look),
    search, people, empty, discovery, missed.element)

  const drawPeople = whenChanged(() => {
    const found = [...home.nearby].sort((a, b) => byName.compare(a.displayName, b.displayName))
    const wanted = search.value.trim().toLowerCase()
    show(search, found.length >= searchedMin || wanted !== '')
    const shown = wanted ? found.filter((peer) => peer.displayName.toLowerCase().includes(wanted)) : found
    draw(shown)
    say(count, found.length ? t('nearby.count', { count: found.length }) : t('nearby.title'))
    say(group, searching())
    show(pulse, home.canAct && home.isLooking)
    show(empty, shown.length === 0)
    const problem = home.discoveryProblem
    show(discovery, problem !== null)
    say(discovery, problem ?? '')
    show(look, home.canAct)
    say(look, t(home.isLooking ? 'nearby.stop' : 'nearby.look'))
    say(empty, advice(wanted))
    missed.update()
  })

  /** Messages change nothing here. */
  function update() {
    const { room } = home
    drawPeople(
      home.found?.items, home.invitations.items, room, room?.session?.blocked.join(), home.canAct, home.isLooking, home.type,
      home.discoveryProblem, search.value, ...home.rooms.map((one) => one.people))
  }

  function searching() {
    if (!home.canAct) return ''
    if (!home.isLooking) return t('nearby.notSearching')
    return home.type === typeByDefault ? t('nearby.searching') : t('nearby.searchingIn', { type: home.type })
  }

  function advice(wanted) {
    if (wanted) return t('nearby.noMatch', { text: search.value.trim() })
    if (!home.canAct) return t('nearby.emptyViewer')
    if (!home.isLooking) return t('nearby.stopped')
    return t('nearby.empty', { command: home.type === typeByDefault ? 'vicinity adhoc' : `vicinity adhoc ${home.type}` })
  }

  return { element, update }
}

/** Invitations that nobody has answered in time. */
function missedList(home) {
  const rows = h('ul', { class: 'people' })
  const draw = list(rows, ({ displayName, createdAt }) => ({
    element: h('li', { class: 'row' }, avatar(displayName ?? '').element,
      h('div', { class: 'grow stack' }, h('strong', { class: 'cut' }, displayName ?? t('somebody')),
        h('span', { class: 'hint' }, t('invitations.missedAt', { time: time(createdAt) })))),
  }))
  const element = h('section', { class: 'missed', 'aria-label': t('invitations.missed') },
    h('h3', {}, t('invitations.missed')), rows)
  return {
    element,
    update() {
      const { missed } = home
      draw(missed)
      show(element, missed.length > 0)
    },
  }
}

function person(home, { id }, open) {
  const picture = avatar()
  const name = h('strong', { class: 'cut' })
  const mark = h('span', { class: 'mark', role: 'img', 'aria-label': t('verified'), title: t('verified') }, icon(verified))
  const state = h('span', { class: 'hint' })
  const invite = h('button', { onclick: () => toggle(true) }, t('invite'))
  const goTo = h('button', { class: 'quiet', onclick: open }, t('nearby.open'))
  const cancel = h('button', {
    class: 'quiet', onclick: () => home.attempt(() => home.cancelInvitation(home.invitationTo(id))),
  }, t('invitations.cancel'))
  const unblock = h('button', { class: 'quiet', onclick: () => home.attempt(() => home.block(id, false)) }, t('unblock'))
  const note = h('input', { maxlength: 500, placeholder: t('invitations.note'), 'aria-label': t('invitations.note') })
  const form = h('form', {
    class: 'row', hidden: true,
    onsubmit: (event) => {
      event.preventDefault()
      toggle(false)
      home.attempt(() => home.invite(id, note.value.trim()))
    },
    onkeydown: (event) => event.key === 'Escape' && toggle(false),
  }, note, h('button', { class: 'primary' }, t('send')))
  const element = h('li', {},
    h('div', { class: 'row' }, picture.element,
      h('div', { class: 'grow stack' }, h('div', { class: 'row tight' }, name, mark), state), invite, goTo, cancel, unblock), form)

  function toggle(isOpen) {
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
      const isBlocked = home.isBlocked(id)
      picture.update(peer.displayName, standing === 'connected' && !peer.awaySince)
      say(name, peer.displayName)
      show(mark, peer.verified)
      say(state, isBlocked ? t('nearby.blocked') : isIn ? inside(standing, peer) : outside(invitation, peer))
      show(goTo, standing === 'connected')
      show(cancel, isAsked && !isIn && home.canAct)
      show(unblock, isBlocked && home.canAct)
      const mayInvite = home.canAct && Boolean(home.room) && !isAsked && !isIn && !isBlocked
      if (!mayInvite) show(form, false)
      show(invite, mayInvite && form.hidden)
    },
  }
}

const inside = (standing, peer) =>
  (standing === 'connected' ? joined(t('nearby.inSession'), away(peer.awaySince)) : t('member.connecting'))

function outside(invitation, peer) {
  if (invitation?.state === 'pending') return joined(t('invitations.sent'), away(peer.awaySince))
  const info = Object.entries(peer.discoveryInfo ?? {}).map(([key, value]) => `${key}: ${value}`).join(' · ')
  if (peer.awaySince) return joined(away(peer.awaySince), info)
  if (!invitation || invitation.state === 'accepted') return info
  return worded('invitation', invitation.state)
}
