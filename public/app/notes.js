// What is said above everything else: what is not as it should be.

import { h, say, show } from './dom.js'
import { sentence } from './words.js'

/** A plain word where others on the way can read along, and the way that they cannot. */
export function unprotected(about) {
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname) || location.hostname.endsWith('.localhost')
  if (location.protocol === 'https:' || isHere) return null
  const trust = about.https?.authority
    ? [' Your browser warns you first, until this device trusts ',
      h('a', { href: 'v1/gateway/authority' }, 'this gateway’s authority'), '.']
    : []
  return h('p', { class: 'note', role: 'note' },
    'This connection is not protected: others on this network can read along, and nobody can be an operator here. ',
    h('a', { href: `https://${location.host}${location.pathname}` }, 'Open the protected page'), '.', trust)
}

export function notes(home) {
  const away = h('p', { class: 'note warning', role: 'status' })
  const trouble = h('p', { class: 'grow' })
  const problem = h('div', { class: 'note warning row', role: 'alert' }, trouble,
    h('button', {
      class: 'quiet', onclick: () => {
        home.trouble = null
        home.changed()
      },
    }, 'Close'))
  const looking = h('p', { class: 'note', role: 'note' },
    'You look on: this browser sees what the gateway itself does, and changes nothing.')
  let awaySince = null

  const update = () => {
    const isAway = home.gateway.state !== 'online'
    awaySince = isAway ? awaySince ?? Date.now() : null
    // A blink is no news.
    show(away, isAway && Date.now() - awaySince > 1500)
    say(away, 'The gateway does not answer. This page goes on trying, and what you see may be old.')
    show(problem, home.trouble !== null)
    if (home.trouble) say(trouble, sentence(home.trouble))
    show(looking, !home.canAct)
  }
  update()
  // What comes and goes lies above the page, so that nothing moves.
  const passing = h('div', { class: 'passing' }, away, problem)
  return { element: h('div', { class: 'notes' }, unprotected(home.about), looking, passing), update }
}
