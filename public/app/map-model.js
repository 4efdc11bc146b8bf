// The model and the layout of the map: computers with their people, and the place of each. It knows no element.

import { placesOf } from './map-places.js'

/** The radius of a person's avatar. */
export const personRadius = 22
/** The widths for names, of which the widest is taken that a name needs and the field has room for. */
const nameWidths = [88, 76, 64, 54]
/** The room between two names, and the height of an avatar with its name. */
const nameGap = 4
const personHeight = 62
/** The limit of people drawn on one computer; the others are a number. */
const peopleMax = 4
/** An area that each computer covers at least. */
const areaMin = 84 * 84

/**
 * The people that `home` knows, grouped by the computer that carries them. The gateway's own computer is first, then those with
 * connected people. A found peer whose computer is unknown is a group of its own. Members of the session `lit` are marked.
 * The links to other computers are by their hosts; `reachOf(peer)` is what is known of the way to a found peer.
 */
export function groupsOf(home, lit, links = new Map(), reachOf = () => ({})) {
  const own = home.about.host
  const people = new Map()
  const me = home.me
  if (me) people.set(me.id, { id: me.id, name: me.displayName, host: own, state: 'connected', isMe: true, isLit: Boolean(lit) })
  for (const one of home.nearby) {
    if (one.id === me?.id) continue
    people.set(one.id, { ...linkOf(one, links, reachOf(one.id)), id: one.id, name: one.displayName, state: 'found', awaySince: one.awaySince, verified: one.verified })
  }
  for (const room of home.rooms) {
    for (const member of room.people) {
      if (member.state === 'notConnected') continue
      const before = people.get(member.peer)
      const isLit = before?.isLit || room === lit
      // A peer may be connected in one session and connecting in another.
      const state = before?.state === 'connected' ? before.state : member.suspended ? 'suspended' : member.state
      people.set(member.peer, {
        ...before, ...linkOf(member, links, before), id: member.peer, name: member.displayName, state, isLit, awaySince: member.awaySince,
        verified: member.verified, room: before?.room ?? room.id,
      })
    }
  }
  const groups = new Map()
  for (const person of people.values()) {
    const key = person.host ?? person.id
    const group = groups.get(key) ?? { key, host: person.host, isHub: key === own, people: [] }
    groups.set(key, group)
    group.people.push(person)
  }
  if (!groups.has(own)) groups.set(own, { key: own, host: own, isHub: true, people: [] })
  const all = [...groups.values()].map((group) => summed(group, links.get(group.host)))
  const rank = (group) => (group.isHub ? 0 : group.isConnected ? 1 : 2)
  return all.sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.key < b.key ? -1 : 1))
}

/** The computer of a peer, and the medium and the round trip: of the link to it, or without one those that were `known` before. */
function linkOf({ carriedBy, host = carriedBy }, links, known = {}) {
  const own = host ?? known.host
  const { medium = known.medium, roundTripMilliseconds: roundTrip = known.roundTrip } = links.get(own) ?? {}
  return { host: own, medium, roundTrip }
}

function summed(group, { standby = [], rate = 0 } = {}) {
  const { people } = group
  people.sort((a, b) => Boolean(b.isMe) - Boolean(a.isMe) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  const trips = people.map((one) => one.roundTrip).filter((one) => one !== undefined)
  return {
    ...group, standby, rate, name: people[0]?.name ?? '', more: Math.max(0, people.length - peopleMax),
    medium: people.find((one) => one.medium)?.medium ?? null,
    roundTrip: trips.length ? Math.min(...trips) : null,
    isConnected: people.some((one) => one.state === 'connected'),
    isSuspended: people.length > 0 && people.every((one) => one.state === 'suspended'),
    isLit: people.some((one) => one.isLit),
  }
}

/**
 * The places of groups and people in a field, and how many people found none. Each has a `label`, which may be empty and is cut to
 * its room; `measure` gives the width of a text. `before` is the last answer, which holds while nothing else is to be placed.
 */
export function layOut(groups, { width, height, measure }, before) {
  const some = groups.slice(0, 1 + Math.ceil((width * height) / areaMin))
  const key = JSON.stringify([width, height, some.map((group) => [group.key, group.label, ...shown(group).map(({ label }) => label)])])
  const spots = before?.key === key ? before.spots : spotsOf(some, { width, height, measure })
  const placed = some.flatMap((group, place) => (spots[place] === null ? [] : [{
    ...group, ...spots[place], people: shown(group).map((person, number) => ({ ...person, ...spots[place].people[number] })),
  }]))
  return { key, spots, placed, hidden: sum(groups.map(({ people }) => people.length)) - sum(placed.map(({ people }) => people.length)) }
}

const shown = ({ people }) => people.slice(0, peopleMax)

/** The place of each group, with those of its people and all texts cut to their room; null for one that finds none. */
function spotsOf(groups, { width, height, measure }) {
  const longest = new Map(groups.map((group) => [group, Math.max(0, ...shown(group).map(({ label }) => measure(label)))]))
  const rooms = nameWidths.map((most) => groups.map((group) => {
    const nameWidth = nameWidths.findLast((width) => width >= Math.min(most, longest.get(group)))
    const radius = Math.hypot(columnsOf(group) * (nameWidth + nameGap), rowsOf(group) * personHeight) / 2
    // It may be wider than its computer by a name.
    const label = cut(group.label, 2 * radius + most, measure)
    return { group, nameWidth, radius, label, labelWidth: measure(label) }
  }))
  const { circles, places } = placesOf(rooms, width, height)
  return circles.map(({ group, nameWidth, ...circle }, place) => places[place] && {
    ...circle, ...places[place], people: peopleAt(group, nameWidth, places[place]).map((spot, number) => (
      { ...spot, label: cut(group.people[number].label, nameWidth, measure) })),
  })
}

const columnsOf = (group) => Math.ceil(Math.sqrt(Math.max(1, shown(group).length)))
const rowsOf = (group) => Math.max(1, Math.ceil(shown(group).length / columnsOf(group)))

/** The middles of the avatars of a group, in rows; names stand below. */
function peopleAt(group, nameWidth, { x, y }) {
  const [columns, rows, count] = [columnsOf(group), rowsOf(group), shown(group).length]
  return shown(group).map((_, place) => {
    const row = Math.floor(place / columns)
    const inRow = Math.min(columns, count - row * columns)
    return {
      x: x + ((place % columns) - (inRow - 1) / 2) * (nameWidth + nameGap),
      y: y + (row - (rows - 1) / 2) * personHeight + personRadius - personHeight / 2,
    }
  })
}

/** As much of the text as has room. */
function cut(text, width, measure) {
  if (measure(text) <= width) return text
  const letters = [...text]
  const short = () => `${letters.join('').trimEnd()}…`
  while (letters.length > 1 && measure(short()) > width) letters.pop()
  return short()
}

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0)
