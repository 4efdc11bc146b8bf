// What is said above everything else: what is not as it should be.

import { h, say, show } from './dom.js'
import { t } from './texts.js'
import { sentence } from './words.js'

/** Warns where others on the way can read along, and leads to where they cannot; null where they cannot here. */
export function unprotected(about) {
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname) || location.hostname.endsWith('.localhost')
  if (location.protocol === 'https:' || isHere) return null
  const trust = about.https?.authority
    ? [' ', t('unprotected.warning'), ' ', h('a', { href: 'v1/gateway/authority' }, t('unprotected.authority'))]
    : []
  return h('p', { class: 'note', role: 'note' }, t('unprotected.text'), ' ',
    h('a', { href: `https://${location.host}${location.pathname}` }, t('unprotected.open')), trust)
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
    }, t('close')))
  const viewing = h('p', { class: 'note', role: 'note' }, t('viewer.note'))
  let awaySince = null

  const update = () => {
    const isAway = home.gateway.state !== 'online'
    awaySince = isAway ? awaySince ?? Date.now() : null
    // A blink is no news.
    show(away, isAway && Date.now() - awaySince > 1500)
    say(away, t('gateway.noAnswer'))
    show(problem, home.trouble !== null)
    if (home.trouble) say(trouble, sentence(home.trouble))
    show(viewing, !home.canAct)
  }
  update()
  // What comes and goes lies above the page, so that nothing moves.
  const passing = h('div', { class: 'passing' }, away, problem)
  return { element: h('div', { class: 'notes' }, unprotected(home.about), viewing, passing), update }
}
