// The page of somebody who is paired: its head, its ways, and what lies on each.

import { h, list, say, set, show } from './dom.js'
import { access } from './access.js'
import { activity } from './activity.js'
import { chat } from './chat.js'
import { doorbell } from './doorbell.js'
import { nearby } from './nearby.js'
import { notes } from './notes.js'
import { undoBar } from './undo.js'
import { you } from './you.js'

const states = {
  online: 'Online', connecting: 'Connecting …', waiting: 'Reconnecting …', idle: 'Connecting …', refused: 'Signed out',
}

export function house(home) {
  const ways = [
    { id: 'nearby', name: 'Nearby', count: () => home.incoming.length },
    { id: 'chat', name: 'Session', count: () => home.rooms.reduce((sum, room) => sum + room.unread, 0) },
    { id: 'activity', name: 'Activity', count: () => 0 },
    { id: 'access', name: 'Access', count: () => 0 },
  ]
  const parts = {
    top: notes(home), bell: doorbell(home), you: you(home), nearby: nearby(home), chat: chat(home),
    activity: activity(home), access: access(home), undo: undoBar(home),
  }
  const state = h('span', { class: 'state', role: 'status' }, h('i', { class: 'dot' }), h('span'))
  const links = h('nav', { class: 'ways', 'aria-label': 'Pages' })
  const drawLinks = list(links, link)
  const aside = h('aside', { id: 'nearby', class: 'side', 'aria-label': 'You and who is nearby' },
    parts.you.element, parts.nearby.element)
  const pages = { chat: parts.chat.element, activity: parts.activity.element, access: parts.access.element }

  const element = h('div', { class: 'house' },
    h('header', { class: 'head' },
      h('img', { src: 'icon.svg', alt: '', width: 28, height: 28 }),
      h('h1', {}, home.about.name),
      state),
    links,
    parts.top.element,
    aside,
    h('main', { class: 'page' }, Object.values(pages)),
    parts.undo.element, parts.bell.element)

  const here = () => (ways.some((way) => `#${way.id}` === location.hash) ? location.hash.slice(1) : 'chat')
  const turn = () => {
    home.view = here()
    update()
  }

  function update() {
    home.view = here()
    // Beside a page there is room for who is nearby; alone it is a page of its own.
    set(element, 'data-view', home.view)
    for (const [id, page] of Object.entries(pages)) show(page, id === home.view || home.view === 'nearby' && id === 'chat')
    set(state, 'data-state', home.gateway.state)
    say(state.lastChild, states[home.gateway.state])
    for (const part of Object.values(parts)) part.update()
    // After what is looked at has been drawn, and so is not new any more.
    drawLinks(ways)
    const unread = ways[1].count() + ways[0].count()
    const title = `${unread ? `(${unread}) ` : ''}${home.about.name} · Vicinity`
    if (document.title !== title) document.title = title
  }

  addEventListener('hashchange', turn)
  return { element, update, removed: () => removeEventListener('hashchange', turn) }

  function link(way) {
    const badge = h('span', { class: 'badge' })
    const element = h('a', { href: `#${way.id}`, class: 'way', 'data-way': way.id }, way.name, badge)
    return {
      element,
      update() {
        set(element, 'aria-current', home.view === way.id && 'page')
        const count = way.count()
        show(badge, count > 0)
        say(badge, String(count))
        set(badge, 'aria-label', `${count} new`)
      },
    }
  }
}
