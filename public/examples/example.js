// Shared by the examples: everybody who has the same page open is in one session, and the page names them.
//
// Their texts are in `texts/`, in the languages of the dashboard. An element names its own: `data-text`, `data-label` for those who do
// not see it, `data-hint` in a field that is empty.

import { format, language, languages, t, useLanguage } from '../app/texts.js'
import { Vicinity } from '../vicinity.js'

const root = new URL('..', import.meta.url)
/** The settings of the dashboard for this gateway: the CSRF token of its cookie, a name, and a language. */
const kept = JSON.parse(localStorage.getItem(root.pathname === '/' ? 'vicinity' : `vicinity:${root.pathname}`) ?? '{}')
const status = document.querySelector('#status')
const lineLengthMax = 1 << 20
/** Makes the text, or the link, that says who is here. */
let state = () => t('status.connecting')

export { format, language, languages, t }

/** Writes the page in a language: that of the browser, if there is none of this name. */
export async function speak(wanted) {
  await useLanguage(wanted, (name) => import(`./texts/${name}.js`))
  for (const element of document.querySelectorAll('[data-text]')) write(element)
  for (const element of document.querySelectorAll('[data-label]')) element.ariaLabel = t(element.dataset.label)
  for (const element of document.querySelectorAll('[data-hint]')) element.placeholder = t(element.dataset.hint)
  document.title = `${document.querySelector('h1').textContent} · Vicinity`
  show(state)
}

/** An element within stays, at the place in the text that has the name of its id. */
function write(element) {
  const [inner] = element.children
  const [before, after = ''] = t(element.dataset.text, inner ? { [inner.id]: '\n' } : {}).split('\n')
  element.replaceChildren(before, ...(inner ? [inner, after] : []))
}

function show(made) {
  state = made
  status.replaceChildren(made())
}

await speak(kept.language)

/** The gateway, as this browser sees it, or the client that has a token. */
export const bare = (token) => new Vicinity(root.href, token ? { token } : { csrf: kept.csrf })

/** The session of all who have joined the type; never fulfilled where this browser has not joined its gateway yet. */
export async function enter(type) {
  if (!kept.csrf) return ask()
  try {
    const gateway = bare()
    // Each page is a peer of its own, so that two tabs are two people; it goes with the page.
    const peer = await gateway.peer({ name: kept.name || t('name.none'), lifetime: 'connection', reuse: false })
    addEventListener('pagehide', () => gateway.delete(`/v1/peers/${peer.id}`, { keepalive: true }).catch(() => {}))
    addEventListener('pageshow', ({ persisted }) => persisted && location.reload())
    const session = await peer.join(type)
    const others = () => {
      const names = session.connected.map((member) => member.displayName)
      return names.length === 0 ? t('status.alone') : t('status.with', { names: format('list').format(names) })
    }
    session.on('member', () => show(others))
    show(others)
    return session
  } catch (problem) {
    if (problem.kind === 'unauthorized' || problem.kind === 'forbidden') return ask()
    show(() => problem.message)
    throw problem
  }
}

function ask() {
  show(() => Object.assign(document.createElement('a'), { href: root.href, textContent: t('status.join') }))
  return new Promise(() => {})
}

/** Calls `come` for each member once it is connected, and `go` once it is not any more. */
export function follow(session, { come, go = () => {} }) {
  const here = new Set()
  const look = (member) => {
    const isHere = member.state === 'connected'
    if (isHere === here.has(member.id)) return
    if (isHere) {
      here.add(member.id)
      come(member)
    } else {
      here.delete(member.id)
      go(member)
    }
  }
  session.on('member', look)
  session.connected.forEach(look)
}

/** Lines of text, as they come by a stream; it ends at one that is too long. */
export async function * lines(readable) {
  const reader = readable.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const all = (rest + part.value).split('\n')
    rest = all.pop()
    yield* all
    if (rest.length > lineLengthMax) return reader.cancel()
  }
}

/** A text of somebody else, parsed as JSON: null if it is invalid. */
export function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** A colour of the design. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`)
