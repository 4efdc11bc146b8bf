// Charts of the gateway's last hour, from the history of metrics that it keeps in memory.

import { h, say, set, svg } from './dom.js'
import { section } from './parts.js'
import { t } from './texts.js'
import { milliseconds, number, size, time } from './words.js'

const askInterval = 10_000
const [width, height] = [360, 72]

/** Each makes its lines of the series, a value for each time between two samples. */
const charts = [
  {
    name: 'traffic', show: (value) => t('charts.bytesPerSecond', { size: size(value) }),
    lines: (past) => [past.rate('bytesReceived'), past.rate('bytesSent')],
  },
  {
    name: 'messages', show: (value) => t('charts.perSecond', { number: value }),
    lines: (past) => [past.rate('messagesReceived'), past.rate('messagesSent')],
  },
  {
    name: 'latency', show: milliseconds,
    lines: (past) => [past.ratio('requestMicroseconds', 'requests').map((value) => value / 1000)],
  },
  { name: 'processor', show: (value) => t('charts.percent', { number: value }), lines: (past) => [past.rate('processorMilliseconds').map((value) => value / 10)] },
  { name: 'memory', show: size, lines: (past) => [past.values('memoryBytes')] },
  { name: 'members', show: number, lines: (past) => [past.values('members')] },
]

class Past {
  constructor({ seconds, times, series }) {
    Object.assign(this, { seconds, times, series })
  }

  values(name) { return this.series[name].slice(1) }
  #growth(name) { return this.series[name].slice(1).map((value, place) => Math.max(0, value - this.series[name][place])) }
  rate(name) { return this.#growth(name).map((value) => value / this.seconds) }

  /** The growth of one for each of another. */
  ratio(name, other) {
    const others = this.#growth(other)
    return this.#growth(name).map((value, place) => (others[place] ? value / others[place] : 0))
  }
}

export function history(home) {
  let asked = 0
  const cards = charts.map(makeCard)
  const since = h('p', { class: 'hint' }, t('charts.wait'))
  const element = section(t('charts.title'), since, h('div', { class: 'charts' }, cards.map((card) => card.element)))

  async function ask() {
    const answer = await home.gateway.get('/v1/gateway/history').catch(() => null)
    if (!answer || answer.times.length < 2) return
    const past = new Past(answer)
    say(since, t('charts.since', { time: time(past.times[0]) }))
    for (const card of cards) card.draw(past)
  }

  return {
    element,
    update() {
      if (Date.now() - asked < askInterval) return
      asked = Date.now()
      ask()
    },
  }
}

function makeCard({ name, show, lines }) {
  const value = h('strong')
  const most = h('span', { class: 'hint' })
  const pointer = svg('path', { class: 'pointer' })
  /** The lines that are drawn, the times of their values, and the text about the highest of them. */
  let drawn = { all: [[]], times: [], text: '' }
  /** The place of the pointer, from 0 to 1; null where it is elsewhere, and the latest values are said. */
  let pointed = null
  const drawing = svg('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', class: 'chart', role: 'img' })
  const title = t(`charts.${name}`)
  set(drawing, 'aria-label', title)
  drawing.addEventListener('pointermove', point)
  drawing.addEventListener('pointerleave', () => point(null))

  /** Says the values at the time under the pointer. */
  function point(event) {
    const { left, width: whole } = drawing.getBoundingClientRect()
    pointed = event ? Math.min(1, Math.max(0, (event.clientX - left) / whole)) : null
    sayValues()
  }

  function sayValues() {
    const { all, times, text } = drawn
    const last = all[0].length - 1
    if (last < 0) return
    const said = pointed !== null && last > 0 ? Math.round(pointed * last) : -1
    set(pointer, 'd', said >= 0 && `M${(said * width / last).toFixed(1)} 0V${height}`)
    say(most, said >= 0 ? time(times[said + 1]) : text)
    value.replaceChildren(...all.flatMap((line, place) => [
      place > 0 && ' · ', h('span', { 'data-line': all.length > 1 && place }, show(line.at(said)))].filter(Boolean)))
  }

  return {
    element: h('div', { class: 'card stack' },
      h('div', { class: 'row between' }, h('h3', { class: 'cut' }, title), most), value, drawing),
    draw(past) {
      const all = lines(past)
      const top = Math.max(...all.flat(), 0)
      drawn = { all, times: past.times, text: t('charts.most', { value: show(top) }) }
      sayValues()
      drawing.replaceChildren(...all.flatMap((line, place) => shapes(line, top, place)), pointer)
      set(drawing, 'aria-label', `${title}: ${all.map((line) => show(line.at(-1))).join(' · ')}, ${drawn.text}`)
    },
  }
}

/** A line, and for the first the area below it. */
function shapes(line, top, place) {
  const step = width / Math.max(1, line.length - 1)
  const points = line.map((value, at) => `${(at * step).toFixed(1)} ${(height - 2 - (top ? value / top : 0) * (height - 6)).toFixed(1)}`)
  const path = (d, kind) => svg('path', { d, class: kind })
  const curve = path(`M${points.join('L')}`, `line-${place}`)
  return place === 0 ? [path(`M0 ${height}L${points.join('L')}L${width} ${height}Z`, 'area'), curve] : [curve]
}
