// The console: each event of the gateway that this client may see, as it happens, the latest first.

import { h, icon, list, say, set, show } from './dom.js'
import { console as consoleShape } from './icons.js'
import { saveFile } from './save.js'
import { t } from './texts.js'
import { dateAndTime, second } from './words.js'

/** Lines that are drawn; a filter looks at all events that are here. */
const linesMax = 300
const ownFields = new Set(['id', 'at', 'event', 'about', 'displayName', 'name'])

export function consolePage(home, element) {
  let paused = null
  let chosen = []
  const filter = h('input', {
    type: 'search', placeholder: t('console.filter'), 'aria-label': t('console.filter'), oninput: () => draw(),
  })
  const pause = h('button', { 'aria-pressed': 'false', onclick: () => {
    paused = paused ? null : home.events.items
    draw()
  } }, t('console.pause'))
  const copy = h('button', { hidden: !navigator.clipboard, onclick: async () => {
    await navigator.clipboard.writeText(asText())
    say(copy, t('copied'))
    setTimeout(() => say(copy, t('copy')), 2000)
  } }, t('copy'))
  const save = h('button', { onclick: () => saveFile('vicinity-events.ndjson', asText(), 'application/x-ndjson') }, t('console.save'))
  const status = h('p', { class: 'hint', role: 'status' })
  const lines = h('ol', { class: 'lines', tabindex: 0, 'aria-label': t('console.lines') })
  const drawLines = list(lines, (event) => line(home, event))
  const words = h('p')
  const empty = h('div', { class: 'empty roomy' }, icon(consoleShape), words)
  element.append(
    h('div', { class: 'row between wrap' }, h('h2', {}, t('views.console')),
      h('div', { class: 'row wrap' }, filter, pause, copy, save)),
    status, lines, empty)

  /** The chosen events as lines of JSON, with the names that stand for their ids. */
  const asText = () => chosen.map((event) => `${JSON.stringify({ ...event, subject: subject(home, event.about) })}\n`).join('')

  function draw() {
    if (element.hidden) return
    const wanted = filter.value.trim().toLowerCase()
    const all = paused ?? home.events.items
    const has = (event) => `${JSON.stringify(event)} ${subject(home, event.about)}`.toLowerCase().includes(wanted)
    chosen = wanted ? all.filter(has) : all
    drawLines(chosen.slice(-linesMax).reverse())
    show(lines, chosen.length > 0)
    show(empty, chosen.length === 0)
    say(words, t(all.length === 0 ? 'console.empty' : 'console.noMatch'))
    const waiting = paused ? newer(paused.at(-1)) : 0
    say(pause, t(paused ? 'console.resume' : 'console.pause'))
    set(pause, 'aria-pressed', String(Boolean(paused)))
    say(status, paused ? t('console.paused', { count: waiting }) : t('count.events', { count: chosen.length }))
  }

  const newer = (last) => home.events.items.length - 1 - home.events.items.findLastIndex((one) => one.id === last?.id)

  return { update: draw }
}

function line(home, event) {
  const rest = Object.entries(event).filter(([name]) => !ownFields.has(name)).map(([name, value]) => `${name}: ${value}`)
  return {
    element: h('li', {},
      h('time', { datetime: event.at, title: dateAndTime(event.at) }, second(event.at)),
      h('strong', {}, event.event),
      h('span', { class: 'what' }, [event.displayName, event.name, ...rest].filter(Boolean).join(' · ')),
      h('span', { class: 'subject cut', title: event.about }, subject(home, event.about))),
  }
}

/** The subject of an event, with names in place of ids as far as they are known here. */
export function subject(home, about) {
  const [, , ...parts] = about.split('/')
  const said = []
  for (let place = 0; place < parts.length; place += 2) said.push(named(home, parts, place))
  return said.join(' › ')
}

function named(home, parts, place) {
  const [collection, id] = [parts[place], parts[place + 1]]
  if (id === undefined) return collection
  const room = home.rooms.find((one) => one.id === parts[1])
  const thing = {
    peers: () => home.peers.get(id)?.displayName,
    sessions: () => room?.present.join(', '),
    members: () => room?.members.get(id)?.displayName,
    resources: () => room?.resources.get(id)?.name,
    invitations: () => home.invitations.get(id)?.displayName,
    clients: () => home.clients?.get(id)?.name,
    found: () => home.nearby.find((peer) => peer.id === id)?.displayName,
  }[collection]?.()
  return `${collection} ${thing || id}`
}
