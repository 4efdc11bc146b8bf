// The places of circles in a field: the first in the middle, the others around it. No circle and no label below one lies on another.
// It knows no element.

/** The margin of the field, and gaps between neighbours, in pixels: the least, and one that is wide enough. */
const edge = 4
const [gapMin, gapEnough] = [8, 52]
/** Gaps that are tried, for all choices. */
const gaps = [24, gapMin]
/** How much of a gap it is worth that no circle lies on the way from the first to another one. */
const wayWorth = 10
/** The part of a field that circles with their gaps can cover. */
const roomPart = 0.75
/** The height of a label with the room around it. */
const labelHeight = 22
/** The least distance between the places that are tried in a crowd, and how many they are along a field. */
const [stepMin, stepCount] = [8, 60]

/**
 * The places in a field, for the first of the `choices` that has room for all: a list of circles, each with its `radius` and the
 * `labelWidth` of what is written below it, or 0. If none has, as many of the last as find a place; the others have null.
 */
export function placesOf(choices, width, height) {
  const fields = choices.map((circles) => ({ circles, width, height, tried: new Map() }))
  for (const gap of gaps) {
    for (const field of fields.filter((one) => isRoomy(one, gap))) {
      const places = inRings(field, gap) ?? spread(field, gap)
      if (places) return { circles: field.circles, places }
    }
  }
  const last = fields.at(-1)
  return { circles: last.circles, places: crowded(last, gapMin) }
}

/** Whether that many circles with such gaps may lie in a field at all. */
const isRoomy = ({ circles, width, height }, gap) => circles.reduce((sum, { radius }) => sum + Math.PI * (radius + gap / 2) ** 2, 0) < roomPart * width * height

/** The first of the points at which a label of that width lies inside of the field and on no placed circle or its label. */
export function freePlace(points, labelWidth, placed, width, height) {
  const taken = placed.flatMap((one) => shapesOf(one, one))
  return points.find((point) => {
    const label = labelAt(point, labelWidth)
    const side = label.half + label.radius
    const isInside = Math.min(point.x - side, width - point.x - side, point.y - label.radius, height - point.y - label.radius) >= 0
    return isInside && taken.every((shape) => gapBetween(shape, label) >= 0)
  })
}

// Shapes: a circle, or a label as what two circles and all between them cover.

const labelAt = ({ x, y }, width) => ({ x, y, half: width / 2, radius: labelHeight / 2 })

function shapesOf({ radius, labelWidth }, { x, y }) {
  const circle = { x, y, half: 0, radius }
  return labelWidth > 0 ? [circle, labelAt({ x, y: y + radius + labelHeight / 2 }, labelWidth)] : [circle]
}

function gapBetween(a, b) {
  const apart = Math.max(0, Math.abs(a.x - b.x) - a.half - b.half)
  return Math.hypot(apart, a.y - b.y) - a.radius - b.radius
}

const foot = ({ labelWidth }) => (labelWidth > 0 ? labelHeight : 0)
const side = ({ radius, labelWidth }) => Math.max(radius, labelWidth > 0 ? (labelWidth + labelHeight) / 2 : 0)
const middleOf = (circle, width, height) => ({ x: width / 2, y: (height - foot(circle)) / 2 })

// Rings

/** Places on rings with equal gaps, in the best arrangement; null if all have narrower gaps than `least`. */
function inRings({ circles, width, height }, least) {
  const [first, ...others] = circles
  const middle = middleOf(first, width, height)
  if (others.length === 0) return [middle]
  // Each has outlines of its own, and so a small one comes nearer to the edge than a large one.
  const reaches = others.map((circle) => ({
    x: middle.x - edge - side(circle), y: Math.min(middle.y, height - foot(circle) - middle.y) - edge - circle.radius,
  }))
  const reach = { x: Math.min(...reaches.map(({ x }) => x)), y: Math.min(...reaches.map(({ y }) => y)) }
  if (reach.x < 0 || reach.y < 0) return null
  const inner = first.radius + foot(first) + Math.max(...others.map(({ radius }) => radius)) + gapMin
  const starts = [0, 0.5 / others.length, ...Array.from({ length: 7 }, (_, place) => (place + 1) / 8)]
  let best = { worth: -Infinity, places: null }
  for (const rings of arrangements(inner / Math.min(reach.x, reach.y))) {
    const outlines = new Map()
    const outlineOf = (number, { x, y }) => {
      const key = `${number} ${x} ${y}`
      if (!outlines.has(key)) outlines.set(key, rings[number]({ x, y }))
      return outlines.get(key)
    }
    const lengths = rings.map((_, number) => outlineOf(number, reach).length)
    for (const start of starts) {
      const places = [middle, ...along(lengths, others, start).map(({ ring, part }, place) => {
        const { x, y } = outlineOf(ring, reaches[place]).at(part)
        return { x: middle.x + x, y: middle.y + y }
      })]
      const gap = leastGap(circles, places, Math.max(least, best.worth))
      if (gap < least) continue
      const worth = Math.min(gapEnough, gap) - wayWorth * coveredWays(circles, places)
      if (worth === gapEnough) return places
      if (worth > best.worth) best = { worth, places }
    }
  }
  return best.places
}

/** How many circles lie on the way from the first to another one. */
function coveredWays(circles, [from, ...places]) {
  return places.reduce((count, to, place) => count + places.filter((other, number) => {
    if (number === place) return false
    const [x, y] = [to.x - from.x, to.y - from.y]
    const part = ((other.x - from.x) * x + (other.y - from.y) * y) / (x * x + y * y)
    return part > 0 && part < 1 && Math.hypot(other.x - from.x - part * x, other.y - from.y - part * y) < circles[number + 1].radius
  }).length, 0)
}

/** Rings from the inside to the outside, the more even arrangements first: each gives the outline for a reach. `inner` is the part of it
 * that the first takes. */
function* arrangements(inner) {
  const round = (part) => ({ x, y }) => outline(Math.min(x, 1.5 * y) * part, Math.min(y, 1.5 * x) * part)
  const ring = (part, isSquare) => ({ x, y }) => outline(x * part, y * part, isSquare)
  for (const one of [round(0.8), round(1), ring(1, false), ring(1, true)]) yield [one]
  for (let count = 2; inner < 1 && count <= 5; count += 1) {
    const parts = Array.from({ length: count }, (_, place) => inner + ((1 - inner) * place) / (count - 1))
    for (const isSquare of [false, true]) yield parts.map((part) => ring(part, isSquare))
  }
}

/** The ring of each circle, and the part of it that lies before: each ring is as full as the others, and begins at `start`. */
function along(lengths, circles, start) {
  const need = ({ radius }) => 2 * radius + gapMin
  const sum = (some) => some.reduce((all, one) => all + need(one), 0)
  const share = sum(circles) / lengths.reduce((all, length) => all + length, 0)
  const points = []
  for (const [ring, length] of lengths.entries()) {
    const left = circles.slice(points.length)
    let count = 0
    for (let used = 0; count < left.length && used + need(left[count]) / 2 <= length * share; count += 1) used += need(left[count])
    const some = ring === lengths.length - 1 ? left : left.slice(0, count)
    const more = (length - sum(some)) / Math.max(1, some.length)
    // Neighbouring rings have their circles between each other's.
    let at = length * start + (ring % 2 && some.length > 0 ? (need(some[0]) + more) / 2 : 0)
    for (const [place, circle] of some.entries()) {
      if (place > 0) at += (need(some[place - 1]) + need(circle)) / 2 + more
      points.push({ ring, part: length > 0 ? (at / length) % 1 : 0 })
    }
  }
  return points
}

/** The least gap between any two; something below `enough` as soon as two are that near. */
function leastGap(circles, places, enough) {
  const shapes = circles.map((circle, place) => shapesOf(circle, places[place]))
  let least = Infinity
  for (const [place, some] of shapes.entries()) {
    for (const others of shapes.slice(place + 1)) {
      for (const a of some) for (const b of others) least = Math.min(least, gapBetween(a, b))
      if (least < enough) return least
    }
  }
  return least
}

/** An ellipse or a rectangle; `at` gives the point after a part of it, clockwise, from the end of its longer axis. */
function outline(rx, ry, isSquare = false) {
  const steps = 120
  const from = rx >= ry ? 0 : -Math.PI / 2
  const points = Array.from({ length: steps + 1 }, (_, place) => {
    const angle = from + (2 * Math.PI * place) / steps
    const [x, y] = [Math.cos(angle), Math.sin(angle)]
    const size = isSquare ? Math.max(Math.abs(x), Math.abs(y)) : 1
    return { x: (rx * x) / size, y: (ry * y) / size }
  })
  const ways = [0]
  for (let place = 1; place <= steps; place += 1) {
    ways.push(ways[place - 1] + Math.hypot(points[place].x - points[place - 1].x, points[place].y - points[place - 1].y))
  }
  const length = ways[steps]
  return {
    length,
    at(part) {
      const way = length * part
      const place = Math.max(1, ways.findIndex((one) => one >= way))
      const rest = (way - ways[place - 1]) / (ways[place] - ways[place - 1] || 1)
      const [a, b] = [points[place - 1], points[place]]
      return { x: a.x + (b.x - a.x) * rest, y: a.y + (b.y - a.y) * rest }
    },
  }
}

// Crowds

/** Places for all, as far apart as they find them; null if some find none with the least gap. */
function spread(field, least) {
  let found = null
  for (let gap = least; gap < 2 * gapEnough; gap *= 1.4) {
    const places = isRoomy(field, gap) ? crowded(field, gap, true) : [null]
    if (places.includes(null)) return found
    found = places
  }
  return found
}

/** Each at the first free place from the edge of the field inward. */
function crowded({ circles, width, height, tried }, gap, isForAll = false) {
  const [first, ...others] = circles
  const middle = middleOf(first, width, height)
  const taken = shapesOf(first, middle)
  /** The places that are left, by size: what is no place for one is none for the next of its size. */
  const left = new Map()
  const places = [middle]
  for (const circle of others) {
    places.push(free(circle))
    if (isForAll && places.includes(null)) break
  }
  return places

  function free(circle) {
    const size = `${circle.radius} ${circle.labelWidth}`
    if (!tried.has(size)) tried.set(size, inward(circle, width, height))
    if (!left.has(size)) left.set(size, tried.get(size).values())
    // A shape in the way at one place often is at the next, too.
    let near = taken[0]
    for (const place of left.get(size)) {
      const shapes = shapesOf(circle, place)
      const isNear = (other) => shapes.some((shape) => gapBetween(shape, other) < gap)
      if (isNear(near)) continue
      near = taken.find(isNear) ?? null
      if (near === null) {
        taken.push(...shapes)
        return place
      }
    }
    return null
  }
}

/** All places of a circle, on rectangles from the edge inward. */
function inward(circle, width, height) {
  const area = {
    left: edge + side(circle), right: width - edge - side(circle),
    top: edge + circle.radius, bottom: height - edge - circle.radius - foot(circle),
  }
  const step = Math.max(stepMin, Math.sqrt(width * height) / stepCount)
  const places = []
  for (let { left, right, top, bottom } = area; left <= right && top <= bottom; left += step, right -= step, top += step, bottom -= step) {
    const [across, down] = [spaced(left, right, step), spaced(top, bottom, step)]
    places.push(...across.map((x) => ({ x, y: top })), ...down.map((y) => ({ x: right, y })))
    places.push(...across.map((x) => ({ x, y: bottom })).reverse(), ...down.map((y) => ({ x: left, y })).reverse())
  }
  return places
}

/** Numbers from the one to the other, with equal steps of that size at most. */
function spaced(from, to, step) {
  const count = Math.max(1, Math.ceil((to - from) / step))
  return Array.from({ length: count + 1 }, (_, place) => from + ((to - from) * place) / count)
}
