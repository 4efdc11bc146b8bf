// The frame of all views: the gateway's name, the ways between the views, and what lies above all of them.

import { alerts } from './alerts.js'
import { chat } from './chat.js'
import { h, icon, list, say, set, show } from './dom.js'
import * as icons from './icons.js'
import { invitations } from './invitations.js'
import { nearby } from './nearby.js'
import { notes, stateOf } from './notes.js'
import { profile } from './profile.js'
import { t } from './texts.js'
import { trust } from './trust.js'
import { undoBar } from './undo.js'

/** By their names in the address; the first one is where a page begins. */
const viewNames = ['nearby', 'sessions', 'map', 'wall', 'console', 'gateway']

/** In milliseconds: after it the other views are loaded. */
const laterDelay = 3000

export function shell(home, speak) {
  const counts = {
    nearby: () => home.incoming.length, sessions: () => home.rooms.reduce((sum, room) => sum + room.unread, 0),
  }
  const openSession = () => { location.hash = 'sessions' }
  /** The open sheet that puts a session together. */
  let gathering = null
  let isOpening = false
  const gather = async () => {
    if (isOpening || gathering) return
    isOpening = true
    gathering = await home.attempt(async () => {
      const { gather } = await import('./gather.js')
      return gather(home, openSession, () => { gathering = null })
    })
    isOpening = false
  }
  const people = h('section', { id: 'nearby', class: 'side', 'aria-label': t('views.people') })
  const parts = {
    top: notes(home), invitations: invitations(home, openSession), nearby: nearby(home, openSession, people, gather), you: profile(home),
    chat: chat(home), trust: trust(home),
    pairings: loadedLater(home, h('section', { class: 'checks', hidden: true, 'aria-label': t('bluetooth.label'), 'aria-live': 'assertive' }),
      async () => (await import('./pairings.js')).pairingCards),
    map: loadedLater(home, sheet('map'), async () => (await import('./map.js')).mapPage),
    wall: loadedLater(home, h('section', { class: 'wall', 'aria-label': t('wall.name') }), async () => (await import('./wall.js')).wallPage),
    console: loadedLater(home, sheet('console'), async () => (await import('./console.js')).consolePage),
    gateway: loadedLater(home, h('div', { class: 'sheet gateway' }), async () => {
      const { gatewayPage } = await import('./gateway-page.js')
      return (...of) => gatewayPage(...of, speak)
    }),
    state: stateOf(home.gateway), alerts: alerts(home, (view) => { location.hash = view }), undo: undoBar(home),
  }
  people.append(parts.nearby.element, parts.you.element)
  const name = h('h1')
  const links = h('nav', { class: 'ways', 'aria-label': t('views.title') })
  const drawLinks = list(links, link, (name) => name)
  const pages = {
    sessions: parts.chat.element, map: parts.map.element, wall: parts.wall.element, console: parts.console.element, gateway: parts.gateway.element,
  }

  const element = h('div', { class: 'shell' },
    h('header', { class: 'head' },
      h('img', { src: 'icon.svg', alt: '', width: 30, height: 30 }),
      name,
      parts.state.element),
    links,
    parts.top.element,
    h('main', {}, people, h('div', { class: 'page' }, Object.values(pages))),
    parts.undo.element, h('div', { class: 'overlay' }, parts.invitations.element, parts.trust.element, parts.pairings.element))

  const here = () => (viewNames.includes(location.hash.slice(1)) ? location.hash.slice(1) : viewNames[0])

  function update() {
    home.view = here()
    // Beside a page there is room for who is nearby; alone it is a view of its own.
    set(element, 'data-view', home.view)
    for (const [name, page] of Object.entries(pages)) {
      show(page, name === home.view || home.view === 'nearby' && name === 'sessions')
    }
    say(name, home.about.name)
    show(parts.pairings.element, home.openPairings.length > 0)
    for (const part of Object.values(parts)) part.update()
    gathering?.update()
    // After what is looked at has been drawn, and so is not new any more.
    drawLinks(viewNames)
    const unread = counts.nearby() + counts.sessions()
    const title = `${unread ? `(${unread}) ` : ''}${home.about.name} · ${t('app.name')}`
    if (document.title !== title) document.title = title
  }

  addEventListener('hashchange', update)
  return { element, update, removed }

  function removed() {
    removeEventListener('hashchange', update)
    for (const part of Object.values(parts)) part.removed?.()
  }

  function link(name) {
    const badge = h('span', { class: 'badge' })
    const element = h('a', { href: `#${name}`, class: 'way', 'data-way': name },
      icon(icons[name]), h('span', {}, t(`views.${name}`)), badge)
    return {
      element,
      update() {
        set(element, 'aria-current', home.view === name && 'page')
        const count = counts[name]?.() ?? 0
        show(badge, count > 0)
        say(badge, String(count))
        set(badge, 'aria-label', t('count.new', { count }))
      },
    }
  }
}

const sheet = (name) => h('section', { class: `sheet ${name}`, 'aria-label': t(`views.${name}`) })

/**
 * A view in its element, of which the module is loaded when it is first shown, or once the page has had time for the first view:
 * it is no part of that, and there when the gateway is away later.
 */
function loadedLater(home, element, load) {
  const early = setTimeout(() => home.gateway.state === 'online' && load().catch(() => {}), laterDelay)
  let loading = null
  let part = null
  return {
    element,
    update() {
      if (!element.hidden) {
        loading ??= load().then((make) => {
          part = make(home, element)
          home.changed()
        }, (problem) => {
          loading = null
          home.fail(problem)
        })
      }
      part?.update()
    },
    removed() {
      clearTimeout(early)
      part?.removed?.()
    },
  }
}
