// A metronome: all devices beat at the same moments of the clock that they share. Whoever sets the rate sets it for all.

import { enter, follow, format, parse } from './example.js'

const find = (id) => document.querySelector(`#${id}`)
const [beat, rate, sound, bound] = ['beat', 'rate', 'sound', 'bound'].map(find)
let audio = null
let timer = null
let last = null
/** How far the wall clocks of two devices may be apart, in milliseconds. */
const clockErrorMax = 60_000
/** When somebody has set the rate; 0: nobody yet. The latest holds. */
let setAt = 0
let clock = null

const session = await enter('metronome')
session.on('message', (message) => set(parse(message.text)))
const tell = (to) => session.send({ rate: rate.valueAsNumber, setAt }, to ? { to } : {}).catch(() => {})
follow(session, { come: (member) => setAt && tell(member) })
clock = await session.clock()

/** The time of a beat in milliseconds. */
const interval = () => 60_000 / (rate.checkValidity() ? rate.valueAsNumber : 90)

function set(said) {
  if (!Number.isSafeInteger(said?.rate) || said.rate < 20 || said.rate > 300 || !(said.setAt > setAt)
    || said.setAt > Date.now() + clockErrorMax) return
  rate.value = said.rate
  setAt = said.setAt
  plan()
}

rate.onchange = () => {
  if (!rate.checkValidity()) return rate.reportValidity()
  setAt = Date.now()
  tell()
  plan()
}

sound.onclick = () => {
  audio = audio ? null : new AudioContext()
  sound.ariaPressed = String(Boolean(audio))
}

function plan() {
  if (!clock) return
  clearTimeout(timer)
  let next = Math.floor(clock.time / interval()) + 1
  // A timer may end a little early.
  if (next === last) next += 1
  timer = setTimeout(() => show(next), Math.max(0, clock.until(next * interval())))
}

function show(number) {
  last = number
  beat.textContent = '♩'.repeat(number % 4 + 1)
  bound.textContent = format('number').format(clock.bound)
  // To be compared between devices of one machine: how far the shared clock is ahead of the wall clock.
  bound.dataset.lead = clock.time - performance.timeOrigin - performance.now()
  if (audio) click(number % 4 === 0)
  plan()
}

function click(isFirst) {
  const tone = new OscillatorNode(audio, { frequency: isFirst ? 1760 : 880 })
  const volume = new GainNode(audio, { gain: 0.3 })
  tone.connect(volume).connect(audio.destination)
  volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + 0.05)
  tone.start()
  tone.stop(audio.currentTime + 0.06)
}

plan()
