// Whose session it is, who is in it, and which other sessions there are.

import { avatar } from './avatar.js'
import { h, list, say, set, show } from './dom.js'
import { memberState, names } from './words.js'

const title = (room) => names(room.title) || 'Empty session'

export function roomHead(home) {
  const rooms = h('div', { class: 'rooms', role: 'tablist', 'aria-label': 'Sessions' })
  const drawRooms = list(rooms, tab)
  const heading = h('h2', { class: 'cut' })
  const count = h('span', { class: 'hint' })
  const fold = h('button', { class: 'quiet', 'aria-expanded': 'false', 'aria-controls': 'members', onclick: () => {
    show(panel, panel.hidden)
    set(fold, 'aria-expanded', String(!panel.hidden))
  } }, 'Members')
  const members = h('ul', { class: 'people' })
  const drawMembers = list(members, (one) => member(home, one))
  const none = h('p', { class: 'empty' }, 'Nobody was here yet.')
  const locked = h('input', {
    type: 'checkbox', onchange: () => home.attempt(() => home.gateway.patch(home.room.path, { locked: locked.checked })),
  })
  const lock = h('label', { class: 'check' }, locked, 'Let nobody else in')
  const more = h('div', { class: 'row wrap end' }, lock, h('span', { class: 'grow' }),
    h('button', { class: 'quiet', onclick: () => home.attempt(() => home.leave(home.room)) }, 'Leave'),
    h('button', { onclick: () => home.attempt(() => home.openSession()) }, 'New session'))
  const panel = h('div', { id: 'members', class: 'members', hidden: true }, members, none, more)
  const element = h('header', { class: 'roomhead' }, rooms,
    h('div', { class: 'row' }, h('div', { class: 'grow stack' }, heading, count), fold), panel)

  function update() {
    const { room } = home
    show(rooms, home.rooms.length > 1)
    drawRooms(home.rooms)
    show(fold, Boolean(room))
    if (!room) {
      say(heading, home.canAct ? 'Session' : 'No session')
      say(count, '')
      return show(panel, false)
    }
    say(heading, title(room))
    const there = room.connected.length
    say(count, there === 0 ? 'Nobody is connected' : there === 1 ? 'One is connected' : `${there} are connected`)
    drawMembers(room.people)
    show(none, room.people.length === 0)
    show(more, home.canAct)
    locked.checked = room.session.locked
  }

  return { element, update }

  function tab(room) {
    const name = h('span', { class: 'cut' })
    const badge = h('span', { class: 'badge' })
    const element = h('button', { role: 'tab', class: 'tab', onclick: () => home.select(room.id) }, name, badge)
    return {
      element,
      update() {
        set(element, 'aria-selected', String(room === home.room))
        say(name, title(room))
        show(badge, room.unread > 0)
        say(badge, String(room.unread))
      },
    }
  }
}

function member(home, { id }) {
  const picture = avatar()
  const name = h('strong', { class: 'cut' })
  const state = h('span', { class: 'hint' })
  const remove = h('button', {
    class: 'quiet', onclick: () => home.attempt(() => home.gateway.delete(`${home.room.path}/members/${id}`)),
  }, 'Remove')
  return {
    element: h('li', {}, h('div', { class: 'row' }, picture.element, h('div', { class: 'grow stack' }, name, state), remove)),
    update(member) {
      picture.update(member.displayName, member.state === 'connected' && !member.suspended)
      say(name, member.displayName)
      say(state, memberState(member))
      show(remove, home.canAct && member.state !== 'notConnected')
    },
  }
}
