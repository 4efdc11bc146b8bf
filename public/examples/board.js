// A drawing board: what each person draws goes to the others over a stream while it is drawn.

import { enter, follow, lines, parse, t } from './example.js'

const inks = ['#1b2224', '#0b6b5c', '#1c4f91', '#c2410c', '#93245f']
const inkNames = ['black', 'green', 'blue', 'orange', 'purple']
const pointsMax = 4096
/** A browser has six connections to a gateway, and each stream that is read takes one. */
const streamsMax = 5

const paper = document.querySelector('#paper')
const context = paper.getContext('2d')
Object.assign(context, { lineWidth: 5, lineCap: 'round', lineJoin: 'round' })
const choices = inkNames.map((name, value) => Object.assign(document.createElement('input'), {
  type: 'radio', name: 'ink', className: 'ink', value, checked: value === 0, ariaLabel: t(`ink.${name}`),
}))
document.querySelector('#tools').prepend(...choices)

/** The drawing so far, for members who come later: pieces of lines, as they are sent. */
let own = []
/** Those who read, by member. */
const writers = new Map()
let streams = 0

const session = await enter('board')
follow(session, { come: open, go: (member) => writers.delete(member.id) })
session.on('stream', read)
document.querySelector('#clear').onclick = () => {
  clear()
  tell({ clear: true })
}

async function open(member) {
  const { writable } = await session.openStream('drawing', member)
  const writer = writable.getWriter()
  writers.set(member.id, writer)
  writer.closed.catch(() => writers.delete(member.id))
  for (const piece of own) write(writer, piece)
}

const write = (writer, piece) => writer.write(`${JSON.stringify(piece)}\n`).catch(() => {})

function tell(piece) {
  for (const writer of writers.values()) write(writer, piece)
}

async function read({ name, readable }) {
  if (name !== 'drawing' || streams >= streamsMax) return readable.cancel()
  streams += 1
  try {
    for await (const line of lines(readable)) take(parse(line))
  } catch {
    // A member that has gone draws nothing more.
  } finally {
    streams -= 1
  }
}

function take(piece) {
  if (piece?.clear === true) return clear()
  const { ink, points } = piece ?? {}
  if (!inks[ink] || !Array.isArray(points) || points.length > pointsMax || !points.every(Number.isFinite)) return
  draw(piece)
}

function draw({ ink, points }) {
  context.strokeStyle = inks[ink]
  context.beginPath()
  context.moveTo(points[0], points[1])
  for (let at = 0; at < points.length; at += 2) context.lineTo(points[at], points[at + 1])
  context.stroke()
}

function clear() {
  own = []
  context.clearRect(0, 0, paper.width, paper.height)
}

// Points that are drawn here go out once for each frame.

let points = null

function place({ clientX, clientY }) {
  const box = paper.getBoundingClientRect()
  return [(clientX - box.left) / box.width * paper.width, (clientY - box.top) / box.height * paper.height].map(Math.round)
}

function send() {
  const ink = choices.findIndex((choice) => choice.checked)
  const piece = { ink, points: points.slice(0, pointsMax) }
  own.push(piece)
  draw(piece)
  tell(piece)
  points = points.slice(-2)
}

paper.onpointerdown = (event) => {
  paper.setPointerCapture(event.pointerId)
  points = place(event)
  send()
}
paper.onpointermove = (event) => {
  if (!points) return
  if (points.length === 2) requestAnimationFrame(() => points?.length > 2 && send())
  points.push(...(event.getCoalescedEvents?.() ?? [event]).flatMap(place))
}
paper.onpointerup = paper.onpointercancel = () => {
  if (points?.length > 2) send()
  points = null
}
