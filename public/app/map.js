// The map: this gateway in the middle, other computers and people around it, and what goes on between them.

import { hueOf } from './avatar.js'
import { h, list, say, set, show, svg } from './dom.js'
import { Links } from './links.js'
import { groupsOf, layOut, personRadius } from './map-model.js'
import { freePlace } from './map-places.js'
import { Reaches } from './reach.js'
import { title } from './session-head.js'
import { t } from './texts.js'
import { Traffic } from './traffic.js'
import { away, initials, joined, names, roundTrip, size, worded } from './words.js'

/** The style sheet is loaded with the module: the other views do not need it. */
const style = h('link', { rel: 'stylesheet', href: new URL('map.css', import.meta.url).href })
await new Promise((resolve) => {
  for (const event of ['load', 'error']) style.addEventListener(event, resolve)
  document.head.append(style)
})

/** Line widths in pixels: without traffic, and at most. */
const [lineMin, lineMax] = [2, 11]
const media = ['lan', 'folder', 'wifi', 'bluetooth', 'relay', 'federation', 'local']

export function mapPage(home, element) {
  const traffic = new Traffic()
  const links = new Links(home.gateway, () => update())
  const reaches = new Reaches(home)
  /** The id of the session that is lit; null for none, undefined for the open one. */
  let chosen
  /** The ids of the person under the pointer, and of the one with the focus. */
  let [hovered, focused] = [null, null]
  let [width, height] = [0, 0]
  let drawn = { placed: [], hidden: 0 }
  const pen = document.createElement('canvas').getContext('2d')

  const count = h('p', { class: 'hint', role: 'status' })
  const sessions = h('div', { class: 'row wrap chips', role: 'group', 'aria-label': t('sessions.title') })
  const drawSessions = list(sessions, chip)
  const [glows, ways, computers, people] = ['glows', 'ways-between', 'computers', 'persons'].map((name) => svg('g', { class: name }))
  const drawGlows = list(glows, () => part('path', ({ d }) => ({ d })), keyOf)
  const drawWays = list(ways, way, keyOf)
  const drawComputers = list(computers, computer, keyOf)
  const drawPeople = list(people, person)
  const trip = svg('text', { class: 'trip', dy: '0.35em', 'aria-hidden': 'true' })
  const field = svg('svg', { role: 'group', 'aria-label': t('views.map'), onkeydown: move, onpointerleave: () => hover(null) }, glows, ways, computers, people, trip)
  const stage = h('div', { class: 'field' }, field)
  const details = h('p', { class: 'details' })
  const legend = h('ul', { class: 'legend', 'aria-label': t('map.legend') })
  const drawLegend = list(legend, (name) => ({
    element: h('li', {}, h('i', { 'data-medium': name }), h('span', {}, t(`medium.${name}`))),
  }), (name) => name)
  element.append(h('div', { class: 'row between wrap' }, h('h2', {}, t('views.map')), count), sessions, stage,
    h('div', { class: 'row between wrap' }, details, legend))

  const observer = new ResizeObserver(([{ contentRect }]) => {
    ({ width, height } = contentRect)
    update()
  })
  observer.observe(stage)

  const lit = () => (chosen === null ? null : home.rooms.find((room) => room.id === chosen) ?? (home.room?.present.length ? home.room : null))

  function update() {
    if (element.hidden) {
      traffic.stop()
      links.stop()
      return
    }
    traffic.watch(home.rooms)
    links.watch()
    const used = home.rooms.filter((room) => room.present.length > 0)
    show(sessions, used.length > 0)
    drawSessions(used)
    const groups = groupsOf(home, lit(), links.byHost, (peer) => reaches.of(peer))
    const others = groups.reduce((sum, group) => sum + group.people.filter((one) => !one.isMe).length, 0)
    const computerCount = new Set(groups.map((group) => group.host).filter(Boolean)).size
    say(count, joined(computerCount > 1 && t('map.computers', { count: computerCount }), t('nearby.count', { count: others })))
    drawLegend(keysOf(groups))
    if (width === 0 || height === 0) return
    drawn = layOut(groups.map(labelled), { width, height, measure }, drawn)
    set(field, 'viewBox', `0 0 ${width} ${height}`)
    const [hub, ...rest] = drawn.placed
    // The links count all bytes, also those of streams, a moment later; what this page sees of them is known at once.
    const all = rest.map((group) => (
      { ...group, d: curve(hub, group), rate: Math.max(group.rate, sum(group.people.map((one) => traffic.rate(one.id)))) }))
    drawGlows(all.filter((group) => group.isLit))
    drawWays(all.flatMap((group) => [group, ...standbyWays(hub, group)]))
    drawComputers([hub, ...all])
    drawPeople(drawn.placed.flatMap((group) => group.people.map((one) => ({ ...one, group }))))
    tell()
    reaches.ask(() => unlinked().map((one) => one.id))
  }

  /** A group with what is written below it and below its people. */
  const labelled = (group) => ({
    ...group, label: joined(group.isHub && home.about.name, group.more > 0 && t('names.more', { count: group.more })),
    people: group.people.map((one) => ({ ...one, label: one.isMe ? t('message.you') : one.name })),
  })

  /** The width of a text in pixels, as the style sheet writes it in the field. */
  function measure(text) {
    const { fontWeight, fontSize, fontFamily } = getComputedStyle(trip)
    pen.font = `${fontWeight} ${fontSize} ${fontFamily}`
    return pen.measureText(text).width
  }

  // Details

  /** Drawn people to whose computers there is no link, by which they would be known. */
  const unlinked = () => drawn.placed.flatMap(({ people }) => people).filter((one) => one.state === 'found' && !links.byHost.has(one.host))
  const find = (id) => drawn.placed.flatMap((group) => group.people.map((one) => ({ ...one, group }))).find((one) => one.id === id)

  function hover(id) {
    hovered = id
    tell()
  }

  function focus(id) {
    focused = id
    tell()
  }

  function tell() {
    const one = (hovered && find(hovered)) ?? (focused && find(focused))
    say(details, one ? describe(one) : joined(t('map.hint'), drawn.hidden > 0 && t('map.hidden', { count: drawn.hidden })))
    for (const node of people.children) set(node, 'data-active', node.id === `on-map-${one?.id}` && 'yes')
    const isFar = one && !one.group.isHub && one.roundTrip !== undefined
    const time = isFar ? roundTrip(one.roundTrip) : ''
    const place = isFar && freePlace(middleOut(drawn.placed[0], one.group), measure(time), drawn.placed, width, height)
    // The words below have it where there is no room.
    say(trip, place ? time : '')
    if (!place) return
    set(trip, 'x', place.x)
    set(trip, 'y', place.y)
  }

  function describe(one) {
    const { group } = one
    const together = group.people.length + group.more
    const rate = Math.max(traffic.rate(one.id), together === 1 ? group.rate : 0)
    const where = group.isHub ? t('map.here', { name: home.about.name }) : together > 1 && t('map.together', { count: together })
    return joined(
      one.isMe ? t('map.you', { name: one.name }) : one.name, where, !one.isMe && (one.state === 'found' ? t('medium.found') : worded('member', one.state)), away(one.awaySince),
      one.verified && t('verified'), !group.isHub && one.medium && worded('medium', one.medium),
      one.roundTrip !== undefined && t('map.roundTrip', { time: roundTrip(one.roundTrip) }),
      group.standby.length > 0 && t('map.standby', { names: names(group.standby.map((medium) => worded('medium', medium))) }),
      rate > 0 && t('charts.bytesPerSecond', { size: size(rate) }))
  }

  /** Arrow keys move the focus; the Tab key stops once. */
  function move(event) {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity }
    const nodes = [...people.children]
    const place = nodes.indexOf(document.activeElement)
    const step = steps[event.key]
    if (step === undefined || place < 0) return
    event.preventDefault()
    nodes[Math.max(0, Math.min(nodes.length - 1, place + step))].focus()
  }

  // The parts

  function chip({ id }) {
    const name = h('span', { class: 'cut' })
    const button = h('button', { class: 'tab', onclick: () => {
      chosen = lit()?.id === id ? null : id
      home.changed()
    } }, name)
    return {
      element: button,
      update(room) {
        say(name, title(room))
        set(button, 'aria-pressed', String(room === lit()))
      },
    }
  }

  function way() {
    return part('path', ({ d, medium, rate, isStandby, isConnected, isSuspended }) => ({
      d, 'data-medium': known(medium),
      'data-state': isStandby ? 'standby' : isSuspended ? 'suspended' : isConnected ? 'connected' : 'found',
      'data-busy': rate > 0 && 'yes', 'stroke-width': thickness(rate).toFixed(1),
    }))
  }

  function computer({ isHub }) {
    const circle = svg('circle')
    const label = svg('text', { class: 'place' })
    return {
      element: svg('g', { class: isHub ? 'hub' : '', 'aria-hidden': 'true' }, circle, label),
      update({ x, y, radius, label: text, isLit }) {
        for (const [name, value] of Object.entries({ cx: x, cy: y, r: radius, 'data-lit': isLit && 'yes' })) set(circle, name, value)
        say(label, text)
        set(label, 'x', x)
        set(label, 'y', y + radius + 16)
      },
    }
  }

  function person({ id }) {
    const circle = svg('circle', { r: personRadius })
    const letters = svg('text', { class: 'letters', dy: '0.35em' })
    const label = svg('text', { class: 'name', y: personRadius + 14 })
    const node = svg('g', {
      id: `on-map-${id}`, class: 'person', role: 'img', tabindex: -1, onfocus: () => focus(id), onblur: () => focus(null),
      onpointerenter: () => hover(id),
    }, circle, letters, label)
    return {
      element: node,
      update(one) {
        set(node, 'transform', `translate(${one.x.toFixed(1)} ${one.y.toFixed(1)})`)
        set(node, 'data-hue', hueOf(one.name))
        set(node, 'data-state', one.state)
        set(node, 'data-away', Boolean(one.awaySince) && 'yes')
        set(node, 'data-lit', one.isLit && 'yes')
        set(node, 'tabindex', node === (people.contains(document.activeElement) ? document.activeElement : people.firstChild) ? 0 : -1)
        set(node, 'aria-label', describe(one))
        say(letters, initials(one.name))
        say(label, one.label)
      },
    }
  }

  return {
    update,
    removed() {
      traffic.stop()
      links.stop()
      observer.disconnect()
    },
  }
}

const keyOf = ({ key }) => key
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0)
const known = (medium) => (media.includes(medium) ? medium : 'network')
const thickness = (rate) => Math.min(lineMax, lineMin + 1.8 * Math.log10(1 + rate / 20))

/** A part with attributes that follow from its item. */
function part(tag, attributes) {
  const element = svg(tag)
  return {
    element,
    update(item) {
      for (const [name, value] of Object.entries(attributes(item))) set(element, name, value)
    },
  }
}

/** The standby links to a computer, each beside the one in use. */
const standbyWays = (hub, { key, standby, ...group }) => standby.map((medium, place) => (
  { key: `${key} ${place}`, medium, rate: 0, isStandby: true, d: curve(hub, group, 0.1 * (place + 2)) }))

/** The control point of the curve between two points. */
function bend(a, b, by = 0.1) {
  return { x: (a.x + b.x) / 2 - (b.y - a.y) * by, y: (a.y + b.y) / 2 + (b.x - a.x) * by }
}

function curve(a, b, by) {
  const [from, over, to] = [a, bend(a, b, by), b].map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`)
  return `M${from}Q${over} ${to}`
}

/** Points of the curve, from its middle to both ends. */
function middleOut(a, b) {
  const over = bend(a, b)
  const at = (part) => {
    const [from, middle, to] = [(1 - part) ** 2, 2 * part * (1 - part), part ** 2]
    return { x: from * a.x + middle * over.x + to * b.x, y: from * a.y + middle * over.y + to * b.y }
  }
  return Array.from({ length: 40 }, (_, place) => at(0.5 + (place % 2 ? 1 : -1) * Math.ceil(place / 2) / 40))
}

/** The entries of the legend that these groups need. */
function keysOf(groups) {
  const others = groups.filter((group) => !group.isHub)
  const linked = others.filter((group) => group.isConnected || group.medium)
  const keys = new Set([...linked.map((group) => group.medium), ...others.flatMap((group) => group.standby)].map(known))
  return [...keys, ...(others.some((group) => group.standby.length > 0) ? ['standby'] : []), ...(others.some((group) => !group.isConnected) ? ['found'] : [])]
}
