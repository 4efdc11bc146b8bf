// The head of a session: its owner, its members, and the other sessions.

import { avatar } from './avatar.js'
import { h, icon, list, say, set, show, whenChanged } from './dom.js'
import { verified } from './icons.js'
import { isForGuests } from './join-link.js'
import { Links } from './links.js'
import { makePanels } from './panels.js'
import { ask } from './question.js'
import { sessionFiles } from './session-files.js'
import { t } from './texts.js'
import { personHeight, searchedMin, virtualList } from './virtual-list.js'
import { away, memberState, names, reached } from './words.js'

/** The members; if all have left, the former members. */
export function title(room) {
  const { present } = room
  if (present.length > 0) return names(present, 3, room.isPartial ? room.connectedCount : present.length)
  // They are on their way.
  if (room.isPartial && room.connectedCount > 0) return t('session.connected', { count: room.connectedCount })
  const { absent } = room
  if (absent.length === 0) return t('session.new')
  const isLeft = absent.every(({ reason }) => reason === undefined || reason === 'left')
  return t(isLeft ? 'session.left' : 'session.lost', { names: names(absent.map((one) => one.displayName)), count: absent.length })
}

/** The consequences of leaving, and for whom. */
async function leave(home) {
  const { room } = home
  const there = room.connected.map((member) => member.displayName)
  const count = room.connectedCount
  const [messages, files] = [room.messages.items.length, room.resources.items.length]
  const parts = [
    messages && t('count.messages', { count: messages }), files && t('count.files', { count: files }),
  ].filter(Boolean)
  const answer = !room.isUsed || await ask({
    title: room.present.length > 0 ? t('leave.questionWith', { names: title(room) }) : t('leave.question'),
    text: [
      there.length > 0 && t('leave.seen', { names: names(there, 3, count), count }),
      parts.length > 0 && t('leave.deleted', { what: names(parts), count: messages + files }),
    ],
    answers: [{ value: 'leave', name: t(parts.length > 0 ? 'leave.yesDelete' : 'leave.yes'), kind: 'danger' }],
  })
  if (answer) await home.attempt(() => home.leave(room, title(room)))
}

/** How many are connected, and who of them does not look. */
function whoIsThere(room) {
  const { connected, connectedCount: count } = room
  if (count === 0) return t('session.empty')
  const absent = connected.filter((member) => member.awaySince)
  const [only] = absent
  const whoIsAway = absent.length === 0 ? '' : count === 1 ? away(only.awaySince) : t('session.away', { count: absent.length })
  return [t('session.connected', { count }), whoIsAway].filter(Boolean).join(' · ')
}

export function sessionHead(home) {
  const rooms = h('div', { class: 'rooms', role: 'tablist', 'aria-label': t('sessions.title') })
  const drawRooms = list(rooms, tab)
  const heading = h('h2', { class: 'cut' })
  const count = h('span', { class: 'hint' })
  let drawnRoom = null
  const panels = makePanels(() => {
    if (panels.opened !== 'members') closeMembers()
    home.changed()
  })
  const files = sessionFiles(home)
  const filesPanel = panels.add('files', {}, files.element)
  const members = h('ul', { class: 'people' })
  const links = new Links(home.gateway, home.changed)
  const none = h('p', { class: 'empty' })
  const search = h('input', {
    type: 'search', class: 'search', 'aria-label': t('members.search'), placeholder: t('members.search'),
    oninput: () => home.room.search(search.value.trim()),
  })
  /** The choice that the session does not show yet. */
  let chosen = null
  const locked = h('input', {
    type: 'checkbox', onchange: async () => {
      const { room } = home
      const choice = { room, locked: locked.checked, answeredAt: null }
      chosen = choice
      const answer = await home.attempt(() => home.gateway.patch(room.path, { locked: choice.locked }))
      choice.answeredAt = room.session
      if (answer !== null || chosen !== choice) return
      chosen = null
      locked.checked = home.room.session.locked
    },
  })

  /** The next state of the session after the answer is true, whatever it is. */
  function isLocked(room) {
    if (chosen?.room !== room) return room.session.locked
    const isShown = room.session.locked === chosen.locked || (chosen.answeredAt && chosen.answeredAt !== room.session)
    if (!isShown) return chosen.locked
    chosen = null
    return room.session.locked
  }

  const lock = h('label', { class: 'check' }, locked, t('session.lock'))
  const guests = h('button', { class: 'quiet', onclick: () => home.attempt(async () => {
    const { room } = home
    const { inviteGuests } = await import('./room-guests.js')
    inviteGuests(home, room)
  }) }, t('guests.title'))
  const more = h('div', { class: 'row wrap end' }, lock, h('span', { class: 'grow' }), guests,
    h('button', { class: 'quiet', onclick: () => leave(home) }, t('leave.button')),
    h('button', { onclick: () => home.attempt(() => home.openSession()) }, t('session.new')))
  const membersPanel = panels.add('members', { onscroll: scrolled }, search, members, none, more)
  membersPanel.say(t('members.title'))
  const { element: panel } = membersPanel
  const entries = virtualList(panel, members, {
    make: (one) => member(home, one, links), key: (one) => one.id, entryHeight: personHeight, resized: home.changed,
    prepare: (drawn) => drawn.map((one, place) => ({ ...one, place: entries.start + place + 1, count: home.room.listedCount })),
  })
  const element = h('header', { class: 'roomhead' }, rooms,
    h('div', { class: 'row' }, h('div', { class: 'grow stack' }, heading, count), filesPanel.button, membersPanel.button))

  function scrolled() {
    entries.moved()
    if (panel.scrollHeight - panel.scrollTop < 3 * panel.clientHeight) home.room?.showMore()
  }

  function closeMembers() {
    search.value = ''
    drawnRoom?.closePages()
    entries.clear()
  }

  /** Messages change nothing here, but in sessions whose members are known by them alone. */
  function update() {
    const { rooms, room } = home
    const seen = rooms.flatMap((one) => [one, one.listed, one.connectedCount, one.present.length > 0 || one.messages.items, one.unread])
    drawHead(home.canAct, panels.opened, room?.session, room?.isUsed, room?.resources.items, room?.comparisons.items, home.transfers.version, room, links.byHost, entries.size, ...seen)
    panels.update()
    if (panels.opened === 'members') links.watch()
    else links.stop()
  }

  const drawHead = whenChanged(() => {
    const { room } = home
    show(rooms, home.rooms.length > 1)
    drawRooms(home.rooms)
    const fileCount = room?.files.reduce((sum, group) => sum + group.files.length, 0) ?? 0
    show(membersPanel.button, Boolean(room))
    show(filesPanel.button, fileCount > 0)
    filesPanel.say(t('count.files', { count: fileCount }))
    if (!room || (fileCount === 0 && panels.opened === 'files')) panels.turn(null)
    if (room !== drawnRoom) closeMembers()
    drawnRoom = room
    if (!room) {
      say(heading, t(home.canAct ? 'session.title' : 'session.none'))
      say(count, '')
      return
    }
    files.update(room, panels.opened === 'files')
    say(heading, title(room))
    say(count, [whoIsThere(room), room.session.adhoc && !home.isGuest && t(isForGuests(room.session) ? 'session.guests' : 'session.open'), room.session.locked && t('session.locked')]
      .filter(Boolean).join(' · '))
    entries.draw(room.listed, false)
    show(search, room.people.length >= searchedMin || search.value !== '')
    show(none, room.listed.length === 0)
    say(none, search.value ? t('members.noMatch', { text: search.value.trim() }) : t('members.none'))
    show(more, home.canAct && !home.isGuest)
    show(guests, home.isOperator && !room.session.locked)
    locked.checked = isLocked(room)
  })

  return {
    element, update, panels,
    removed() {
      links.stop()
      panels.removed()
    },
  }

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

function member(home, { id }, links) {
  const picture = avatar()
  const name = h('strong', { class: 'cut' })
  const mark = h('span', { class: 'mark', role: 'img', 'aria-label': t('verified'), title: t('verified') }, icon(verified))
  const state = h('span', { class: 'hint' })
  const reach = h('span', { class: 'hint reach cut' })
  const remove = h('button', { class: 'quiet', onclick: askToRemove }, t('remove'))
  const verify = h('button', { class: 'quiet', onclick: () => home.attempt(
    () => home.gateway.post(`${home.room.path}/comparisons`, { member: id })) }, t('compare.verify'))

  async function askToRemove() {
    const { path } = home.room
    const { displayName: name } = home.room.member(id)
    const answer = await ask({
      title: t('removing.question', { name }), text: [t('removing.text', { name })],
      answers: [{ value: 'remove', name: t('remove'), kind: 'danger' }],
    })
    if (answer) await home.attempt(() => home.gateway.delete(`${path}/members/${id}`))
  }

  const element = h('li', {}, h('div', { class: 'row' }, picture.element,
    h('div', { class: 'grow stack' }, h('div', { class: 'row tight' }, name, mark), state, reach), verify, remove))
  return {
    element,
    update(member) {
      set(element, 'aria-posinset', member.place)
      set(element, 'aria-setsize', member.count)
      picture.update(member.displayName, member.state === 'connected' && !member.suspended && !member.awaySince)
      say(name, member.displayName)
      show(mark, member.verified)
      say(state, memberState(member))
      const link = member.carriedBy === home.about.host ? { medium: 'here' } : links.byHost.get(member.carriedBy)
      const { short, long } = reached(member.state === 'connected' ? link : {})
      say(reach, short)
      set(reach, 'title', long)
      const isComparing = home.room?.comparisons.get(id) !== undefined
      show(verify, home.canAct && !home.isGuest && member.state === 'connected' && !member.verified && !isComparing)
      show(remove, home.canAct && !home.isGuest && member.state !== 'notConnected')
    },
  }
}
