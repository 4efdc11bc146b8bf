// A session: what was said and sent in it, and saying more.

import { fileCard } from './file-card.js'
import { h, icon, list, say, set, show } from './dom.js'
import { roomHead } from './room-head.js'
import { sentence, time, dateAndTime } from './words.js'

const paperclip = 'M20.5 11.5 12 20a5.2 5.2 0 0 1-7.4-7.4l8.6-8.5a3.5 3.5 0 0 1 5 5L9.6 17.500a1.700 1.700 0 0 1-2.400-2.400l7.800-7.800'
const arrow = 'M12 19V5M5.500 11.500 12 5l6.500 6.500'
/** What is drawn at first, and how much each wish for more adds. */
const entriesPerPage = 200
/** Entries of one person within this time stand together. */
const togetherTime = 5 * 60_000

export function chat(home) {
  let entriesMax = entriesPerPage
  let drawnRoom = null
  let isAtEnd = true
  const head = roomHead(home)
  const earlier = h('button', { class: 'quiet center', onclick: showEarlier }, 'Show earlier ones')
  const log = h('ol', { class: 'log', role: 'log', 'aria-live': 'polite', 'aria-label': 'What is said', tabindex: 0 })
  const draw = list(log, (entry) => makers[entry.kind](entry), (entry) => entry.key)
  const empty = h('div', { class: 'empty roomy' })
  const scroller = h('div', { class: 'scroller', onscroll: () => { isAtEnd = distance() < 60 } }, earlier, log, empty)
  const down = h('button', { class: 'down', onclick: () => toEnd(), 'aria-label': 'To the latest' }, '↓')
  const composer = makeComposer()
  const element = h('section', {
    class: 'chat', 'aria-label': 'Session',
    ondragover: (event) => drag(event, true), ondragleave: (event) => drag(event, false), ondrop: drop,
  }, head.element, scroller, down, composer.element, h('div', { class: 'dropzone' }, 'Let go to send'))

  const distance = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight
  const toEnd = () => { scroller.scrollTop = scroller.scrollHeight }

  function showEarlier() {
    const before = distance()
    entriesMax += entriesPerPage
    update()
    scroller.scrollTop = scroller.scrollHeight - scroller.clientHeight - before
  }

  function update() {
    const room = home.room
    if (room !== drawnRoom) {
      draw([])
      entriesMax = entriesPerPage
      isAtEnd = true
      drawnRoom = room
    }
    head.update()
    const all = room?.timeline ?? []
    const entries = all.slice(-entriesMax)
    show(earlier, all.length > entries.length)
    draw(entries.map((entry, place) => ({ ...entry, isFirst: !belongs(entry, entries[place - 1]) })))
    show(empty, all.length === 0)
    say(empty, advice(room))
    if (isAtEnd) toEnd()
    show(down, !isAtEnd && distance() > 60)
    const isLooked = !document.hidden && !element.hidden && element.offsetParent !== null
    if (room && isLooked && isAtEnd) room.see()
    composer.update(room)
  }

  function advice(room) {
    if (!home.hasName) return 'Choose the name that others see you by.'
    if (!room) return home.canAct ? 'One moment …' : 'The gateway’s own peer is in no session.'
    if (!home.canAct) return 'Nothing was said here yet.'
    if (room.connected.length > 0) return 'Say hello, or drop a file here.'
    return 'Nobody is in this session. Invite somebody nearby, or choose “Everybody” under “Who can connect with you”.'
  }

  // Entries

  function belongs(entry, before) {
    return before?.kind === entry.kind && entry.kind === 'message' && before.from === entry.from
      && before.isMine === entry.isMine && Date.parse(entry.at) - Date.parse(before.at) < togetherTime
  }

  const makers = { message, file: (entry) => fileCard(home, drawnRoom, entry), note }

  function note(entry) {
    return {
      element: h('li', { class: 'happening' },
        h('span', {}, entry.text), h('time', { datetime: entry.at, title: dateAndTime(entry.at) }, time(entry.at))),
    }
  }

  function message(entry) {
    const room = drawnRoom
    const who = h('span', { class: 'who' })
    const text = h('p', { class: 'text' })
    const state = h('span', { class: 'sending' })
    const again = h('button', { class: 'link', onclick: () => room.again(entry.key) }, 'Try again')
    const discard = h('button', { class: 'link', onclick: () => room.discard(entry.key) }, 'Discard')
    const element = h('li', { class: entry.isMine ? 'message mine' : 'message' },
      h('p', { class: 'byline' }, who, h('time', { datetime: entry.at, title: dateAndTime(entry.at) }, time(entry.at))),
      text, h('p', { class: 'fate' }, state, again, discard))
    return {
      element,
      update(message) {
        set(element, 'data-first', message.isFirst && 'yes')
        const isText = message.encoding !== 'base64'
        const aside = message.to?.length && room.people.length > 1 ? ` to ${recipients(room, message)}` : ''
        say(who, message.isMine ? `You${aside}` : `${message.displayName}${aside && ' to you'}`)
        say(text, message.damaged ? 'This message was damaged on the gateway’s disk.'
          : isText ? message.body : `A message of ${message.size} bytes that is no text.`)
        set(element, 'data-state', message.isSent ? null : message.problem ? 'failed' : 'sending')
        say(state, message.problem ? `Not sent. ${sentence(message.problem)}` : message.isSent ? '' : 'Sending …')
        show(again, Boolean(message.problem))
        show(discard, Boolean(message.problem))
      },
    }
  }

  function recipients(room, message) {
    return message.to.map((peer) => room.standing(peer)?.displayName ?? 'somebody').join(', ')
  }

  // Saying more

  function makeComposer() {
    const text = h('textarea', {
      rows: 1, 'aria-label': 'Message', placeholder: 'Message', enterkeyhint: 'send', oninput: typed, onkeydown: key,
      onpaste: (event) => event.clipboardData.files.length && give(event, event.clipboardData.files),
    })
    const files = h('input', { type: 'file', multiple: true, hidden: true, onchange: () => {
      sendFiles([...files.files])
      files.value = ''
    } })
    const attach = h('button', {
      type: 'button', class: 'round', 'aria-label': 'Send files', title: 'Send files', onclick: () => files.click(),
    }, icon(paperclip))
    const send = h('button', { class: 'round primary', 'aria-label': 'Send', title: 'Send' }, icon(arrow))
    const to = h('select', { 'aria-label': 'To whom', onchange: () => {
      home.room.recipient = to.value || null
      home.changed()
    } })
    const form = h('form', { class: 'composer', onsubmit: submit }, attach, files, to, text, send)
    let choices = ''

    function typed() {
      home.room.draft = text.value
      send.disabled = text.value.trim() === ''
    }

    function key(event) {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
      event.preventDefault()
      form.requestSubmit()
    }

    function submit(event) {
      event.preventDefault()
      const said = text.value.trim()
      if (!said || !home.room?.connected.length) return
      text.value = ''
      typed()
      isAtEnd = true
      home.room.send(said)
      text.focus()
    }

    return {
      element: form,
      focus: () => text.focus(),
      update(room) {
        show(form, home.canAct && Boolean(room))
        if (!room) return
        const people = room.connected
        if (room.recipient && !people.some((member) => member.peer === room.recipient)) room.recipient = null
        const wanted = JSON.stringify([room.id, people.map((member) => [member.peer, member.displayName])])
        if (wanted !== choices) {
          choices = wanted
          to.replaceChildren(h('option', { value: '' }, 'To all'),
            ...people.map((member) => h('option', { value: member.peer }, `To ${member.displayName}`)))
        }
        to.value = room.recipient ?? ''
        show(to, people.length > 1)
        if (text.value !== room.draft) text.value = room.draft
        const isAlone = people.length === 0
        text.disabled = attach.disabled = isAlone
        set(text, 'placeholder', isAlone ? 'No one is connected' : 'Message')
        send.disabled = isAlone || text.value.trim() === ''
      },
    }
  }

  function sendFiles(files) {
    const room = home.room
    const members = room.connected.filter((member) => !room.recipient || member.peer === room.recipient)
    isAtEnd = true
    home.transfers.send(room, files, members)
  }

  function give(event, files) {
    event.preventDefault()
    sendFiles([...files])
  }

  function drag(event, isOver) {
    if (!home.canAct || !home.room?.connected.length || ![...event.dataTransfer.types].includes('Files')) return
    event.preventDefault()
    if (isOver || !element.contains(event.relatedTarget)) element.classList.toggle('dragging', isOver)
  }

  function drop(event) {
    element.classList.remove('dragging')
    if (!home.canAct || !home.room?.connected.length || !event.dataTransfer.files.length) return
    give(event, event.dataTransfer.files)
  }

  return { element, update }
}
