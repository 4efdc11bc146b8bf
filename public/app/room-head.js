// Whose session it is, who is in it, and which other sessions there are.

import { avatar } from './avatar.js'
import { h, list, say, set, show } from './dom.js'
import { ask } from './question.js'
import { counted, memberState, names } from './words.js'

/** Who is in it; where nobody is any more, who was. */
function title(room) {
  const { present } = room
  if (present.length > 0) return names(present)
  const { absent } = room
  if (absent.length === 0) return 'Empty session'
  const isLeft = absent.every(({ reason }) => reason === undefined || reason === 'left')
  return `${names(absent.map((one) => one.displayName))}, ${isLeft ? 'who left' : 'not connected'}`
}

/** What leaving takes, and from whom. */
async function leave(home) {
  const { room } = home
  const there = room.connected.map((member) => member.displayName)
  const [messages, files] = [room.messages.items.length, room.resources.items.length]
  const parts = [messages && counted(messages, 'message'), files && counted(files, 'file')].filter(Boolean)
  const isOne = messages + files === 1
  const answer = !room.isUsed || await ask({
    title: `Leave the session${room.present.length > 0 ? ` with ${names(room.present)}` : ''}?`,
    text: [
      there.length > 0 && `${names(there)} ${there.length === 1 ? 'sees' : 'see'} that you leave.`,
      parts.length > 0 && `${parts.join(' and ')} of this session ${isOne ? 'is' : 'are'} deleted for you. Save what you `
        + 'want to keep first. The others keep what they have.',
    ],
    answers: [{ value: 'leave', name: parts.length > 0 ? 'Leave and delete' : 'Leave', kind: 'danger' }],
  })
  if (answer) await home.attempt(() => home.leave(room, title(room)))
}

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
    h('button', { class: 'quiet', onclick: () => leave(home) }, 'Leave'),
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
    const state = there === 0 ? 'Nobody is connected' : there === 1 ? 'One is connected' : `${there} are connected`
    say(count, room.session.adhoc ? `${state} · Everybody nearby can join` : state)
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
  const remove = h('button', { class: 'quiet', onclick: askToRemove }, 'Remove')

  async function askToRemove() {
    const { path, members } = home.room
    const { displayName } = members.get(id)
    const answer = await ask({
      title: `Remove ${displayName} from this session?`,
      text: [`${displayName} sees nothing more of it, and keeps what was said until now.`],
      answers: [{ value: 'remove', name: 'Remove', kind: 'danger' }],
    })
    if (answer) await home.attempt(() => home.gateway.delete(`${path}/members/${id}`))
  }

  return {
    element: h('li', {}, h('div', { class: 'row' }, picture.element, h('div', { class: 'grow stack' }, name, state), remove)),
    update(member) {
      picture.update(member.displayName, member.state === 'connected' && !member.suspended && !member.awaySince)
      say(name, member.displayName)
      say(state, memberState(member))
      show(remove, home.canAct && member.state !== 'notConnected')
    },
  }
}
