// The list of people nearby, with invitations to them.

import { avatar } from './avatar.js'
import { h, icon, list, say, set, show, whenChanged } from './dom.js'
import { nearby as nearbyShape, verified } from './icons.js'
import { Reaches } from './reach.js'
import { typeByDefault } from './settings.js'
import { t } from './texts.js'
import { personHeight, searchedMin, virtualList } from './virtual-list.js'
import { away, joined, time, worded } from './words.js'

const byName = new Intl.Collator()

/** `open` is called to go to the session, `gather` to put one together; `scroller` is what the list lies in. */
export function nearby(home, open, scroller, gather) {
  let shown = []
  let isMoving = false
  /** The notes of invitations that are being written, by peer: a row that is scrolled away is made anew later. */
  const drafts = new Map()
  const people = h('ul', { class: 'people' })
  const entries = virtualList(scroller, people, {
    make: (peer) => person(home, peer, open, drafts), key: (peer) => peer.id, entryHeight: personHeight, resized: home.changed,
    prepare: (drawn) => drawn.map((peer, place) => (
      { ...peer, place: entries.start + place + 1, count: shown.length, reach: reaches.of(peer.id) })),
  })
  const reaches = new Reaches(home)
  scroller.addEventListener('scroll', moved)
  const count = h('span', { role: 'status' })
  const group = h('span', { class: 'hint grow' })
  const search = h('input', {
    type: 'search', class: 'search', 'aria-label': t('nearby.search'), placeholder: t('nearby.search'), oninput: () => update(),
  })
  const several = h('button', { onclick: gather }, t('gather.open'))
  const words = h('p')
  const empty = h('div', { class: 'empty' }, icon(nearbyShape), words)
  const discovery = h('p', { class: 'discovery', role: 'status' })
  const pulse = h('span', { class: 'pulse', 'aria-hidden': 'true' })
  const map = h('a', { class: 'button onlyphone', href: '#map' }, t('views.map'))
  const look = h('button', { class: 'quiet', onclick: () => home.attempt(() => home.look(!home.isLooking)) })
  const missed = missedList(home)
  const element = h('section', { class: 'nearby', 'aria-label': t('nearby.title') },
    h('h2', { class: 'count' }, count), h('div', { class: 'row' }, pulse, group, look),
    search, people, h('div', { class: 'row wrap more' }, several, map), empty, discovery, missed.element)

  const drawPeople = whenChanged(() => {
    const found = [...home.nearby].sort((a, b) => byName.compare(a.displayName, b.displayName))
    const wanted = search.value.trim().toLowerCase()
    show(search, found.length >= searchedMin || wanted !== '')
    shown = wanted ? found.filter((peer) => peer.displayName.toLowerCase().includes(wanted)) : found
    entries.draw(shown, false)
    say(count, home.found ? t('nearby.count', { count: found.length }) : t('nearby.title'))
    say(group, searching())
    show(pulse, home.canAct && home.isLooking)
    show(empty, shown.length === 0)
    show(several, home.canAct && (found.length > 1 || !home.isLooking))
    const problem = home.discoveryProblem
    show(discovery, problem !== null)
    say(discovery, problem ?? '')
    show(look, home.canAct)
    say(look, t(home.isLooking ? 'nearby.stop' : 'nearby.look'))
    say(words, advice(wanted))
    missed.update()
  })

  /** Messages change nothing here. */
  function update() {
    const { room } = home
    drawPeople(
      home.found?.items, home.invitations.items, room, room?.session?.blocked.join(), home.canAct, home.isLooking, home.type,
      home.discoveryProblem, search.value, entries.size, reaches.version, ...home.rooms.map((one) => one.people))
    reaches.ask(seen)
  }

  /** The peers whose rows lie in the window. */
  function seen() {
    const box = scroller.getBoundingClientRect()
    if (box.height === 0) return []
    const rows = [...people.children].map((row) => row.getBoundingClientRect())
    return rows.flatMap(({ top, bottom }, place) => (
      bottom > box.top && top < box.bottom ? shown[entries.start + place]?.id ?? [] : []))
  }

  function moved() {
    if (isMoving) return
    isMoving = true
    requestAnimationFrame(() => {
      isMoving = false
      entries.moved()
    })
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

/** Invitations that ended without an answer; whoever is still found can be invited back. */
function missedList(home) {
  const rows = h('ul', { class: 'people' })
  const draw = list(rows, ({ displayName, createdAt, from, serviceType }) => {
    const state = h('span', { class: 'hint' })
    const back = h('button', { onclick: () => home.attempt(() => home.invite(from, '', serviceType)) }, t('invitations.back'))
    return {
      element: h('li', {}, h('div', { class: 'row' }, avatar(displayName ?? '').element,
        h('div', { class: 'grow stack' }, h('strong', { class: 'cut' }, displayName ?? t('somebody')), state), back)),
      update(missed) {
        const isAsked = home.invitationTo(from)?.state === 'pending'
        const isFound = home.nearby.some((peer) => peer.id === from)
        const text = t(missed.state === 'cancelled' ? 'invitations.cancelledAt' : 'invitations.missedAt', { time: time(createdAt) })
        say(state, joined(text, isAsked && t('invitations.sent')))
        show(back, isFound && !isAsked && !home.isBlocked(from) && Boolean(home.room))
      },
    }
  })
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

function person(home, { id }, open, drafts) {
  const picture = avatar()
  const name = h('strong', { class: 'cut' })
  const mark = h('span', { class: 'mark', role: 'img', 'aria-label': t('verified'), title: t('verified') }, icon(verified))
  const state = h('span', { class: 'hint' })
  const reach = h('span', { class: 'hint reach cut' })
  const invite = h('button', { onclick: () => toggle(true) }, t('invite'))
  const goTo = h('button', { class: 'quiet', onclick: open }, t('nearby.open'))
  const cancel = h('button', {
    class: 'quiet', onclick: () => home.attempt(() => home.cancelInvitation(home.invitationTo(id))),
  }, t('invitations.cancel'))
  const unblock = h('button', { class: 'quiet', onclick: () => home.attempt(() => home.block(id, false)) }, t('unblock'))
  const note = h('input', {
    maxlength: 500, placeholder: t('invitations.note'), 'aria-label': t('invitations.note'), value: drafts.get(id),
    oninput: () => drafts.set(id, note.value),
  })
  const form = h('form', {
    class: 'row', hidden: !drafts.has(id),
    onsubmit: (event) => {
      event.preventDefault()
      toggle(false)
      home.attempt(() => home.invite(id, note.value.trim()))
    },
    onkeydown: (event) => event.key === 'Escape' && toggle(false),
  }, note, h('button', { class: 'primary' }, t('send')))
  const element = h('li', {},
    h('div', { class: 'row' }, picture.element,
      h('div', { class: 'grow stack' }, h('div', { class: 'row tight' }, name, mark), state, reach), invite, goTo, cancel, unblock), form)

  function toggle(isOpen) {
    if (isOpen) drafts.set(id, note.value)
    else drafts.delete(id)
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
      // The place in the whole list, of which some rows are drawn.
      set(element, 'aria-posinset', peer.place)
      set(element, 'aria-setsize', peer.count)
      picture.update(peer.displayName, standing === 'connected' && !peer.awaySince)
      say(name, peer.displayName)
      show(mark, peer.verified)
      say(state, isBlocked ? t('nearby.blocked') : isIn ? inside(standing, peer) : outside(invitation, peer))
      show(state, state.textContent !== '')
      say(reach, peer.reach.short)
      set(reach, 'title', peer.reach.long)
      show(goTo, standing === 'connected')
      show(cancel, isAsked && !isIn && home.canAct)
      show(unblock, isBlocked && home.canAct)
      const mayInvite = home.canAct && Boolean(home.room) && !isAsked && !isIn && !isBlocked
      if (!mayInvite) {
        drafts.delete(id)
        show(form, false)
      }
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
