// Live sensors: each device sends its motion ten times a second, and everybody sees a curve of it.
//
// Samples are unreliable messages: one that is late is of no use.

import { colour, enter, follow, parse, t } from './example.js'

const interval = 100
const samplesMax = 150
const axes = ['x', 'y', 'z']
/** In m/s², at the upper edge. */
const range = 15

const plots = new Map()
const start = document.querySelector('#start')
const kind = document.querySelector('#kind')
let felt = null

const session = await enter('sensors')
follow(session, { come: (member) => plotOf(member.peer, member.displayName), go: ({ peer }) => remove(peer) })
session.on('datagram', (message) => {
  const sample = parse(message.text)
  if (axes.every((axis) => Number.isFinite(sample?.[axis]))) plotOf(message.from, message.displayName).add(sample)
})

start.onclick = async () => {
  start.disabled = true
  // One system asks its user first.
  await globalThis.DeviceMotionEvent?.requestPermission?.().catch(() => {})
  addEventListener('devicemotion', ({ accelerationIncludingGravity: now }) => {
    if (now?.x !== null && now?.x !== undefined) felt = { isMotion: true, x: now.x, y: now.y, z: now.z }
  })
  // Without such a sensor, the pointer is one.
  addEventListener('pointermove', ({ clientX, clientY, movementX, movementY }) => {
    if (felt?.isMotion) return
    const scaled = (value, whole) => (value / whole * 2 - 1) * range
    felt = { isMotion: false, x: scaled(clientX, innerWidth), y: scaled(clientY, innerHeight), z: Math.hypot(movementX, movementY) }
  })
  kind.textContent = t('sensors.move')
  setInterval(send, interval)
}

function send() {
  if (!felt) return
  const sample = Object.fromEntries(axes.map((axis) => [axis, Math.round(felt[axis] * 100) / 100]))
  kind.textContent = t(felt.isMotion ? 'sensors.motion' : 'sensors.pointer')
  plotOf('own', t('sensors.own')).add(sample)
  if (session.connected.length > 0) session.send(sample, { reliable: false }).catch(() => {})
}

function remove(peer) {
  plots.get(peer)?.element.remove()
  plots.delete(peer)
}

function plotOf(peer, name) {
  const known = plots.get(peer)
  if (known) return known
  const plot = makePlot(name)
  plots.set(peer, plot)
  document.querySelector('#plots').append(plot.element)
  return plot
}

function makePlot(name) {
  const samples = []
  const element = Object.assign(document.createElement('section'), { className: 'plot' })
  const heading = Object.assign(document.createElement('h2'), { textContent: name })
  const canvas = Object.assign(document.createElement('canvas'), { width: 760, height: 280, role: 'img' })
  canvas.ariaLabel = t('sensors.curve', { name })
  element.append(heading, canvas)
  const context = canvas.getContext('2d')
  let isDrawn = true

  function draw() {
    isDrawn = true
    const { width, height } = canvas
    context.clearRect(0, 0, width, height)
    context.lineWidth = 2
    context.strokeStyle = colour('line')
    context.strokeRect(0, height / 2, width, 0)
    context.lineWidth = 4
    axes.forEach((axis, index) => {
      context.strokeStyle = colour(`hue-${[1, 4, 6][index]}-ink`)
      context.beginPath()
      samples.forEach((sample, place) => {
        context.lineTo(place / (samplesMax - 1) * width, height / 2 - Math.max(-1, Math.min(1, sample[axis] / range)) * height / 2)
      })
      context.stroke()
    })
  }

  return {
    element,
    add(sample) {
      samples.push(sample)
      if (samples.length > samplesMax) samples.shift()
      element.dataset.samples = Number(element.dataset.samples ?? 0) + 1
      if (isDrawn) requestAnimationFrame(draw)
      isDrawn = false
    },
  }
}
