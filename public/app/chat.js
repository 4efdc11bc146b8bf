// A session: what was said and sent in it, and saying more.

import { makeComposer } from './composer.js'
import { h, icon, say, set, show, whenChanged } from './dom.js'
import { filesCard } from './file-card.js'
import { down as downArrow, sessions } from './icons.js'
import { belongs, message, note } from './messages.js'
import { sessionHead } from './session-head.js'
import { t } from './texts.js'
import { names } from './words.js'
import { virtualList } from './virtual-list.js'

/** A list that is this near to its end, in pixels, scrolls by itself. */
const endDistanceMax = 60

export function chat(home) {
  let drawnRoom = null
  let isAtEnd = true
  /** The scroll position at the latest scroll event. */
  let lastTop = 0
  let isMoving = false
  const head = sessionHead(home)
  const { panels } = head
  // It scrolls, and so it takes the keys that do that.
  const log = h('div', { class: 'log', role: 'log', 'aria-label': t('chat.log') })
  const words = h('p')
  const toPeople = h('a', { class: 'button onlyphone', href: '#nearby' }, t('nearby.title'))
  const empty = h('div', { class: 'empty roomy' }, icon(sessions), words, toPeople)
  const scroller = h('div', { class: 'scroller', tabindex: 0, role: 'group', 'aria-label': t('chat.log'), onscroll: moved }, log, empty)
  const entries = virtualList(scroller, log, {
    make: (entry) => makers[entry.kind](entry), key: (entry) => entry.key, prepare, resized: home.changed,
  })
  const typing = h('p', { class: 'typing hint' })
  // The files of a card, and what is on its way, may change while the timeline stays as it is.
  const drawLog = whenChanged((room) => entries.draw(room?.timeline ?? [], isAtEnd))
  const down = h('button', { class: 'down', hidden: true, onclick: toEnd, 'aria-label': t('chat.latest') }, icon(downArrow))
  const composer = makeComposer(home, { sent: () => { isAtEnd = true }, sendFiles })
  const element = h('section', {
    class: 'chat', 'aria-label': t('session.title'),
    ondragover: (event) => drag(event, true), ondragleave: (event) => drag(event, false), ondrop: drop,
  }, head.element, ...panels.elements, scroller, panels.veil, down, typing, composer.element, h('div', { class: 'dropzone' }, t('chat.drop')))
  panels.place(element, scroller)
  const makers = {
    message: (entry) => message(drawnRoom, entry), files: (entry) => filesCard(home, drawnRoom, entry), note: (entry) => note(drawnRoom, entry),
  }

  function prepare(drawn, before) {
    const peopleCount = drawnRoom?.people.length ?? 0
    const isOnline = home.gateway.state === 'online'
    return drawn.map((entry, place) => (
      { ...entry, source: entry, peopleCount, isOnline, isFirst: !belongs(entry, drawn[place - 1] ?? before) }))
  }

  const distance = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight

  function toEnd() {
    isAtEnd = true
    update()
  }

  function moved() {
    const wasAtEnd = isAtEnd
    // Only who moves up leaves the end: where the window has become smaller, or an entry has come, the list is about to follow.
    const isUp = scroller.scrollTop < lastTop
    lastTop = scroller.scrollTop
    isAtEnd = distance() < endDistanceMax || (wasAtEnd && !isUp)
    if (isAtEnd !== wasAtEnd) home.changed()
    if (isMoving) return
    isMoving = true
    requestAnimationFrame(() => {
      isMoving = false
      if (!isAtEnd) entries.moved()
    })
  }

  function update() {
    const { room } = home
    if (room !== drawnRoom) {
      entries.clear()
      isAtEnd = true
      lastTop = 0
      drawnRoom = room
    }
    // An entry that is about to be drawn at the end counts as seen.
    if (room && entries.isShown && !document.hidden && isAtEnd) room.see()
    head.update()
    composer.update(room)
    const all = room?.timeline ?? []
    show(empty, all.length === 0)
    say(words, advice(room))
    show(toPeople, home.canAct && !home.isGuest && room?.connectedCount === 0)
    const writers = room?.typing ?? []
    say(typing, writers.length ? t('typing', { names: names(writers), count: writers.length }) : '')
    // Older entries that are drawn on the way up are no news.
    set(log, 'aria-live', isAtEnd ? 'polite' : 'off')
    drawLog(room, room?.version, room?.people, home.gateway.state, home.transfers.version, isAtEnd, entries.size)
    show(down, !isAtEnd)
  }

  function advice(room) {
    if (!home.hasName) return t('chat.noName')
    if (!room) return t(home.canAct ? 'chat.wait' : 'chat.viewerNone')
    if (!home.canAct) return t('chat.viewerEmpty')
    return t(room.connectedCount > 0 ? 'chat.hello' : home.isGuest ? 'chat.wait' : 'chat.invite')
  }

  // Files

  const mayGive = () => home.canAct && home.room?.connectedCount > 0

  function sendFiles(files) {
    const { room } = home
    const { recipient } = room
    isAtEnd = true
    home.attempt(async () => {
      const members = recipient ? [room.standing(recipient)] : await room.everyone()
      await home.transfers.send(room, files, members)
    })
  }

  function drag(event, isOver) {
    if (!mayGive() || ![...event.dataTransfer.types].includes('Files')) return
    event.preventDefault()
    if (isOver || !element.contains(event.relatedTarget)) element.classList.toggle('dragging', isOver)
  }

  function drop(event) {
    element.classList.remove('dragging')
    if (!mayGive() || event.dataTransfer.files.length === 0) return
    event.preventDefault()
    sendFiles([...event.dataTransfer.files])
  }

  return { element, update, removed: head.removed }
}
