// A remote control: one device shows slides, and another turns them and points at them.

import { enter, follow, parse } from './example.js'

const slidesMax = 99
const find = (id) => document.querySelector(`#${id}`)
const [screen, remote, pointer] = ['screen', 'remote', 'pointer'].map(find)
let isScreen = true
let slide = 1
let pointerTimer = null

const session = await enter('remote')
const tell = (value, options) => session.send(value, options).catch(() => {})
// A turn of a slide must not be lost; where somebody points may be, as the next place follows at once.
session.on('message', (message) => take(parse(message.text)))
session.on('datagram', (message) => point(parse(message.text)))
follow(session, { come: () => isScreen && tell({ slide }) })

function be(what) {
  isScreen = what === 'screen'
  for (const [id, part] of [['screen', screen], ['remote', remote]]) {
    find(`be-${id}`).ariaPressed = String(id === what)
    part.hidden = id !== what
  }
}
find('be-screen').onclick = () => be('screen')
find('be-remote').onclick = () => be('remote')

function take(said) {
  if (isScreen && Number.isSafeInteger(said?.turn)) {
    show(slide + Math.sign(said.turn))
    tell({ slide })
  } else if (!isScreen && Number.isSafeInteger(said?.slide)) show(said.slide)
}

function show(number) {
  slide = Math.max(1, Math.min(slidesMax, number))
  find('slide').textContent = find('shown').textContent = slide
}

find('next').onclick = () => tell({ turn: 1 })
find('previous').onclick = () => tell({ turn: -1 })

function point(place) {
  if (!isScreen || !Number.isFinite(place?.x) || !Number.isFinite(place?.y)) return
  Object.assign(pointer.style, { left: `${place.x * 100}%`, top: `${place.y * 100}%` })
  pointer.hidden = false
  clearTimeout(pointerTimer)
  pointerTimer = setTimeout(() => { pointer.hidden = true }, 3000)
}

const pad = find('pad')
let isFree = true
pad.onpointermove = ({ clientX, clientY, buttons, pointerType }) => {
  if (!isFree || (pointerType === 'mouse' && buttons === 0)) return
  isFree = false
  const box = pad.getBoundingClientRect()
  const within = (value) => Math.max(0, Math.min(1, value))
  tell({ x: within((clientX - box.left) / box.width), y: within((clientY - box.top) / box.height) }, { reliable: false })
    .then(() => { isFree = true })
}
