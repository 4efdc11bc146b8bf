// The model and the layout of the map: computers with their people, and the place of each. It knows no element.

/** The gap between neighbours on a ring, in pixels. */
const gap = 44
/** The radius of a person's avatar. */
export const personRadius = 22
const [labelWidth, labelHeight] = [96, 22]
/** The margin of the field. */
const edge = 10
/** The limit of people drawn on one computer; the others are a number. */
const peopleMax = 4

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
  const count = Math.min(people.length, peopleMax)
  return {
    ...group, standby, rate, name: people[0]?.name ?? '',
    medium: people.find((one) => one.medium)?.medium ?? null,
    roundTrip: trips.length ? Math.min(...trips) : null,
    isConnected: people.some((one) => one.state === 'connected'),
    isSuspended: people.length > 0 && people.every((one) => one.state === 'suspended'),
    isLit: people.some((one) => one.isLit),
    radius: count > 1 ? circleRadius(count) + personRadius + labelHeight : group.isHub ? personRadius + labelHeight : personRadius,
  }
}

/** The radius of the circle on which that many people stand beside each other. */
const circleRadius = (count) => (count < 2 ? 0 : (personRadius + labelHeight / 2) / Math.sin(Math.PI / count))

/** The places of groups and people in a field, and how many people found none. */
export function layOut(groups, width, height) {
  const middle = { x: width / 2, y: height / 2 }
  const [hub, ...others] = groups
  const radius = Math.max(personRadius, ...others.map((group) => group.radius))
  const reach = {
    x: Math.max(60, width / 2 - Math.max(radius, labelWidth / 2) - edge), y: Math.max(60, height / 2 - radius - labelHeight - edge),
  }
  const rings = ringsFor(others, reach, 2 * radius + labelHeight, hub.radius + radius)
  const placed = [{ ...hub, ...middle, ...peopleAt(hub, middle) }]
  // Each ring is as full as the others; the inner ones have those who are connected.
  const share = Math.min(1, sum(others.map(need)) / sum(rings.map((ring) => ring.length)))
  let left = others
  for (const [place, ring] of rings.entries()) {
    const isLast = place === rings.length - 1
    const some = fitting(left, isLast ? ring.length : ring.length * share)
    left = left.slice(some.length)
    // Groups begin at the top, with equal gaps.
    const more = (ring.length - sum(some.map(need))) / Math.max(1, some.length)
    let along = place % 2 && some.length > 1 ? (need(some[0]) + more) / 2 : 0
    for (const [number, group] of some.entries()) {
      if (number > 0) along += (need(some[number - 1]) + need(group)) / 2 + more
      const point = ring.at(along)
      const at = { x: middle.x + point.x, y: middle.y + point.y }
      placed.push({ ...group, ...at, ...peopleAt(group, at) })
    }
  }
  return { placed, hidden: sum(left.map((group) => group.people.length)) + sum(placed.map((group) => group.more)) }
}

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0)
const need = (group) => 2 * group.radius + gap

/** The fewest rings with room for all, the inner one first, `step` apart; the middle stays free up to `inner`. */
function ringsFor(groups, reach, step, inner) {
  const least = Math.min(reach.x, reach.y)
  const parts = [groups.length > 12 ? 1 : 0.86]
  for (;;) {
    const rings = parts.map((part) => ellipse(reach.x * part, reach.y * part))
    const next = parts[0] - step / least
    if (next * least < inner || fits(groups, rings)) return rings
    parts.unshift(next)
    // Several rings need all of the field.
    if (parts.at(-1) < 1) parts.splice(0, parts.length, 1)
  }
}

const fits = (groups, rings) => rings.reduce((left, ring) => left.slice(fitting(left, ring.length).length), groups).length === 0

/** The first groups, as many as fit on a ring of that length. */
function fitting(groups, length) {
  let count = 0
  for (let used = 0; count < groups.length && used + need(groups[count]) <= length; count += 1) used += need(groups[count])
  return groups.slice(0, count)
}

function peopleAt({ people, isHub }, { x, y }) {
  const shown = people.slice(0, peopleMax)
  const distance = circleRadius(shown.length)
  const isAlone = people.length === 1 && !isHub
  const at = (place) => {
    const angle = (2 * Math.PI * place) / shown.length + (shown.length % 2 ? Math.PI / 2 : Math.PI)
    // Names stand below.
    return { x: x + distance * Math.cos(angle), y: y + distance * Math.sin(angle) - (isAlone ? 0 : labelHeight / 3) }
  }
  return { people: shown.map((person, place) => ({ ...person, ...at(place) })), more: people.length - shown.length }
}

/** An ellipse; `at` gives the point at a length along it, from the top and clockwise. */
function ellipse(rx, ry) {
  const steps = 180
  const points = Array.from({ length: steps + 1 }, (_, step) => {
    const angle = (2 * Math.PI * step) / steps - Math.PI / 2
    return { x: rx * Math.cos(angle), y: ry * Math.sin(angle) }
  })
  const ways = [0]
  for (let step = 1; step <= steps; step += 1) {
    ways.push(ways[step - 1] + Math.hypot(points[step].x - points[step - 1].x, points[step].y - points[step - 1].y))
  }
  const length = ways[steps]
  return {
    length,
    at(along) {
      const way = along % length
      const step = Math.max(1, ways.findIndex((one) => one >= way))
      const part = (way - ways[step - 1]) / (ways[step] - ways[step - 1])
      const [a, b] = [points[step - 1], points[step]]
      return { x: a.x + (b.x - a.x) * part, y: a.y + (b.y - a.y) * part }
    },
  }
}
