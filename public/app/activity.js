// The console: all that happens at the gateway and may be seen by this client, the latest first.

import { h, list, say, show } from './dom.js'
import { dateAndTime, second } from './words.js'

const linesMax = 300
const known = new Set(['id', 'at', 'event', 'about', 'displayName', 'name'])

export function activity(home) {
  const filter = h('input', {
    type: 'search', placeholder: 'Only lines with …', 'aria-label': 'Only lines with these words', oninput: () => update(),
  })
  const lines = h('ol', { class: 'lines', 'aria-label': 'Events, the latest first' })
  const draw = list(lines, line)
  const empty = h('p', { class: 'empty roomy' })
  const element = h('section', { class: 'sheet', 'aria-label': 'Activity' },
    h('div', { class: 'row between wrap' }, h('h2', {}, 'Activity'), filter), lines, empty)

  function update() {
    if (element.hidden) return
    const wanted = filter.value.trim().toLowerCase()
    const all = home.events.items
    const chosen = wanted ? all.filter((event) => JSON.stringify(event).toLowerCase().includes(wanted)) : all
    draw(chosen.slice(-linesMax).reverse())
    show(empty, chosen.length === 0)
    say(empty, all.length === 0 ? 'Nothing has happened yet.' : 'No line has these words.')
  }

  return { element, update }
}

function line(event) {
  const rest = Object.entries(event).filter(([name]) => !known.has(name)).map(([name, value]) => `${name}: ${value}`)
  return {
    element: h('li', {},
      h('time', { datetime: event.at, title: dateAndTime(event.at) }, second(event.at)),
      h('strong', {}, event.event),
      h('span', { class: 'what' }, [event.displayName, event.name, ...rest].filter(Boolean).join(' · ')),
      h('code', { class: 'cut', title: event.about }, event.about)),
  }
}
