// Notices above everything else: problems that need attention.

import { h, say, set, show } from './dom.js'
import { ask } from './question.js'
import { t } from './texts.js'
import { sentence } from './words.js'

/**
 * Warns where the connection is not encrypted, and leads to where it is, with what `fragment` gives behind the address; null where
 * nothing of it leaves this machine, or it is encrypted.
 */
export function unprotected(about, fragment = () => '') {
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname) || location.hostname.endsWith('.localhost')
  if (location.protocol === 'https:' || isHere) return null
  const address = `https://${location.host}${location.pathname}`
  return h('p', { class: 'note', role: 'note' }, t('unprotected.text'), ' ',
    h('a', { href: address, onclick: (event) => {
      event.currentTarget.href = address + fragment()
      if (about.https?.authority) explain(event, about)
    } }, t('unprotected.open')))
}

/** Before the browser warns of a certificate that it does not know: that it will, why, and how it never does again. */
async function explain(event, about) {
  event.preventDefault()
  const { href } = event.currentTarget
  const answer = await ask({
    title: t('warning.title'),
    text: [
      t('warning.what'), t('warning.why'),
      h('ol', { class: 'steps' },
        h('li', {}, h('a', { href: 'v1/gateway/authority', download: 'vicinity.crt' }, t('warning.download'))),
        h('li', {}, t('warning.install')),
        h('li', {}, t('warning.compare'), h('code', { class: 'cure' }, about.https.authority))),
    ],
    answers: [{ value: 'go', name: t('warning.go'), kind: 'primary' }],
  })
  if (answer) location.assign(href)
}

/** The state of the connection, in words and as a dot, which stays where it is: other words take the place of the words. */
export function stateOf(gateway) {
  const element = h('span', { class: 'state', role: 'status' }, h('span'), h('i', { class: 'dot' }))
  return {
    element,
    update() {
      set(element, 'data-state', gateway.state)
      const text = t(`state.${gateway.state}`)
      if (element.textContent !== text) element.firstChild.replaceWith(h('span', {}, text))
    },
  }
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
  // Notices that come and go lie above the page, so that nothing moves.
  const passing = h('div', { class: 'passing' }, away, problem)
  return { element: h('aside', { class: 'notes' }, unprotected(home.about), viewing, passing), update }
}
