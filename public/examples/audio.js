// Live audio: while somebody talks, the microphone's samples go to each of the others over a stream of its own.

import { enter, follow, t } from './example.js'

/** Samples a second, of 16 bits: each stream carries 32 kB a second. */
const rate = 16_000
/** The jitter buffer, in seconds: sound that follows an earlier one by more than this waits so long. */
const delay = 0.15
const streamsMax = 5

const talk = document.querySelector('#talk')
const error = document.querySelector('#error')
const voices = new Map()
let talking = null
let playing = null
let streams = 0

const session = await enter('audio')
follow(session, { come: (member) => voiceOf(member), go: ({ peer }) => {
  voices.get(peer)?.element.remove()
  voices.delete(peer)
} })
session.on('stream', play)

talk.onclick = async () => {
  talk.disabled = true
  error.textContent = ''
  // Browsers let a page play sound once somebody has used it.
  playing ??= new AudioContext({ sampleRate: rate })
  try {
    if (talking) await stop()
    else await start()
  } catch (problem) {
    error.textContent = isSecureContext ? problem.message : t('audio.encrypted')
  }
  talk.classList.toggle('primary', !talking)
  talk.classList.toggle('danger', Boolean(talking))
  talk.dataset.text = `audio.${talking ? 'stop' : 'talk'}`
  talk.textContent = t(talk.dataset.text)
  talk.disabled = false
}

async function start() {
  const microphone = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1, echoCancellation: true } })
  const context = new AudioContext({ sampleRate: rate })
  await context.audioWorklet.addModule('audio-worklet.js')
  const recorder = new AudioWorkletNode(context, 'recorder')
  // It is silent there, and runs only if it leads somewhere.
  context.createMediaStreamSource(microphone).connect(recorder).connect(context.destination)
  const writers = await Promise.all(session.connected.map(async (member) => {
    const { writable } = await session.openStream('voice', member)
    return writable.getWriter()
  }))
  recorder.port.onmessage = ({ data }) => {
    // A listener that does not keep up misses some of it, and nobody waits.
    for (const writer of writers) if (writer.desiredSize > 0) writer.write(data).catch(() => {})
  }
  talking = { microphone, context, writers }
}

async function stop() {
  const { microphone, context, writers } = talking
  talking = null
  for (const track of microphone.getTracks()) track.stop()
  await context.close()
  await Promise.all(writers.map((writer) => writer.close().catch(() => {})))
}

async function play({ name, peer, displayName, readable }) {
  if (name !== 'voice' || streams >= streamsMax) return readable.cancel()
  streams += 1
  playing ??= new AudioContext({ sampleRate: rate })
  const voice = voiceOf({ peer, displayName })
  const reader = readable.getReader()
  let next = 0
  let rest = new Uint8Array()
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const bytes = new Uint8Array([...rest, ...part.value])
      rest = bytes.slice(bytes.length & ~1)
      const samples = Float32Array.from(new Int16Array(bytes.buffer, 0, bytes.length >> 1), (value) => value / 32_768)
      if (samples.length === 0) continue
      const buffer = playing.createBuffer(1, samples.length, rate)
      buffer.copyToChannel(samples, 0)
      const source = new AudioBufferSourceNode(playing, { buffer })
      source.connect(playing.destination)
      next = next > playing.currentTime ? next : playing.currentTime + delay
      source.start(next)
      next += buffer.duration
      voice.show(Math.sqrt(samples.reduce((sum, value) => sum + value * value, 0) / samples.length))
    }
  } catch {
    // A member that has gone sends nothing more.
  } finally {
    streams -= 1
    voice.show(0)
  }
}

function voiceOf({ peer, displayName }) {
  const known = voices.get(peer)
  if (known) return known
  const element = Object.assign(document.createElement('section'), { className: 'plot' })
  const meter = Object.assign(document.createElement('meter'), { max: 0.5, ariaLabel: t('audio.loudness', { name: displayName }) })
  element.append(Object.assign(document.createElement('h2'), { textContent: displayName }), meter)
  document.querySelector('#voices').append(element)
  const voice = { element, show: (loudness) => { meter.value = loudness } }
  voices.set(peer, voice)
  return voice
}
