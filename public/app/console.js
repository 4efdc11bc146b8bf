// The console: each event of the gateway that this client may see, and each message of its sessions, as it happens, the latest first.

import { copyButton } from './copy.js'
import { h, icon, list, say, set, show } from './dom.js'
import { console as consoleShape } from './icons.js'
import { knownNames, subject } from './known-names.js'
import { saveFile } from './save.js'
import { t } from './texts.js'
import { dateAndTime, joined, second } from './words.js'

/** Lines that are drawn; a filter looks at all that is here. */
const linesMax = 300
/** Messages of a session that are here. */
const messagesMax = 1000
const ownFields = new Set(['id', 'at', 'event', 'about', 'displayName', 'name'])

export function consolePage(home, element) {
  let paused = null
  let chosen = []
  let known = new Map()
  const filter = h('input', {
    type: 'search', placeholder: t('console.filter'), 'aria-label': t('console.filter'), oninput: () => draw(),
  })
  const pause = h('button', { 'aria-pressed': 'false', onclick: () => {
    paused = paused ? null : happened(home)
    draw()
  } }, t('console.pause'))
  const copy = copyButton(t('copy'), () => asText())
  const save = h('button', { onclick: () => saveFile('vicinity-events.ndjson', asText(), 'application/x-ndjson') }, t('console.save'))
  const status = h('p', { class: 'hint', role: 'status' })
  const lines = h('ol', { class: 'lines', tabindex: 0, 'aria-label': t('console.lines') })
  const drawLines = list(lines, (event) => line(event, () => known))
  const words = h('p')
  const empty = h('div', { class: 'empty roomy' }, icon(consoleShape), words)
  element.append(
    h('div', { class: 'row between wrap' }, h('h2', {}, t('views.console')),
      h('div', { class: 'row wrap' }, filter, pause, copy, save)),
    status, lines, empty)

  /** The chosen events as lines of JSON, with the names that stand for their ids. */
  const asText = () => chosen.map((event) => `${JSON.stringify({ ...event, subject: subject(known, event.about) })}\n`).join('')

  function draw() {
    if (element.hidden) return
    known = knownNames(home)
    const wanted = filter.value.trim().toLowerCase()
    const now = happened(home)
    const all = paused ?? now
    const has = (event) => `${JSON.stringify(event)} ${subject(known, event.about)}`.toLowerCase().includes(wanted)
    chosen = wanted ? all.filter(has) : all
    drawLines(chosen.slice(-linesMax).reverse())
    show(lines, chosen.length > 0)
    show(empty, chosen.length === 0)
    say(words, t(all.length === 0 ? 'console.empty' : 'console.noMatch'))
    say(pause, t(paused ? 'console.resume' : 'console.pause'))
    set(pause, 'aria-pressed', String(Boolean(paused)))
    const newer = () => now.length - 1 - now.findLastIndex((one) => one.id === paused.at(-1)?.id)
    say(status, paused ? t('console.paused', { count: newer() }) : t('count.events', { count: chosen.length }))
  }

  return { update: draw }
}

/** The events of the gateway, which do not have messages, and those, in the order of time. */
function happened({ events, rooms }) {
  const messages = rooms.flatMap((room) => room.timeline.slice(-messagesMax).filter((one) => one.kind === 'message' && one.isSent)
    .map(({ id, at, displayName, mode, size }) => ({ id: `message ${id}`, at, event: 'message', about: `${room.path}/messages/${id}`, displayName, mode, size })))
  if (messages.length === 0) return events.items
  return [...events.items, ...messages].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
}

/** The line of an event, with the names that are known at each moment. */
function line(event, names) {
  const rest = Object.entries(event).filter(([name]) => !ownFields.has(name))
  const [what, about] = [h('span', { class: 'what' }), h('span', { class: 'subject cut', title: event.about })]
  return {
    element: h('li', {},
      h('time', { datetime: event.at, title: dateAndTime(event.at) }, second(event.at)), h('strong', {}, event.event), what, about),
    update() {
      const known = names()
      say(what, joined(event.displayName, event.name, ...rest.map(([name, value]) => `${name}: ${known.get(value) ?? value}`)))
      say(about, subject(known, event.about))
    },
  }
}
