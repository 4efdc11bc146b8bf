// Charts of the gateway's last hour, from the history of metrics that it keeps in memory.

import { h, say, set } from './dom.js'
import { section } from './parts.js'
import { t } from './texts.js'
import { milliseconds, number, size, time } from './words.js'

const askInterval = 10_000
const [width, height] = [360, 72]
const svgSpace = 'http://www.w3.org/2000/svg'

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
  const drawing = document.createElementNS(svgSpace, 'svg')
  for (const [key, is] of Object.entries({ viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', class: 'chart', role: 'img' })) {
    set(drawing, key, is)
  }
  const title = t(`charts.${name}`)
  set(drawing, 'aria-label', title)
  return {
    element: h('div', { class: 'card stack' },
      h('div', { class: 'row between' }, h('h3', {}, title), most), value, drawing),
    draw(past) {
      const all = lines(past)
      const top = Math.max(...all.flat(), 0)
      say(value, all.map((line) => show(line.at(-1))).join(' · '))
      say(most, t('charts.most', { value: show(top) }))
      drawing.replaceChildren(...all.flatMap((line, place) => drawn(line, top, place)))
      set(drawing, 'aria-label', `${title}: ${value.textContent}, ${most.textContent}`)
    },
  }
}

/** A line, and for the first the area below it. */
function drawn(line, top, place) {
  const step = width / Math.max(1, line.length - 1)
  const points = line.map((value, at) => `${(at * step).toFixed(1)} ${(height - 2 - (top ? value / top : 0) * (height - 6)).toFixed(1)}`)
  const path = (d, kind) => {
    const shape = document.createElementNS(svgSpace, 'path')
    set(shape, 'd', d)
    set(shape, 'class', kind)
    return shape
  }
  const curve = path(`M${points.join('L')}`, `line-${place}`)
  return place === 0 ? [path(`M0 ${height}L${points.join('L')}L${width} ${height}Z`, 'area'), curve] : [curve]
}
