// Shared by the examples: everybody who has the same page open is in one session, and the page names them.

import { Vicinity } from '../vicinity.js'

const root = new URL('..', import.meta.url)
/** The settings of the dashboard for this gateway: the CSRF token of its cookie, and a name. */
const kept = JSON.parse(localStorage.getItem(root.pathname === '/' ? 'vicinity' : `vicinity:${root.pathname}`) ?? '{}')
const status = document.querySelector('#status')
const lineLengthMax = 1 << 20

/** The gateway, as this browser sees it, or the client that has a token. */
export const bare = (token) => new Vicinity(root.href, token ? { token } : { csrf: kept.csrf })

/** The session of all who have joined the type; never fulfilled where this browser has not joined its gateway yet. */
export async function enter(type) {
  if (!kept.csrf) return ask()
  try {
    const gateway = bare()
    // Each page is a peer of its own, so that two tabs are two people; it goes with the page.
    const peer = await gateway.peer({ name: kept.name || 'Someone', lifetime: 'connection', reuse: false })
    addEventListener('pagehide', () => gateway.delete(`/v1/peers/${peer.id}`, { keepalive: true }).catch(() => {}))
    addEventListener('pageshow', ({ persisted }) => persisted && location.reload())
    const session = await peer.join(type)
    const show = () => {
      const names = session.connected.map((member) => member.displayName)
      status.textContent = names.length === 0 ? 'Open this page on another device.' : `Here with ${names.join(', ')}`
    }
    session.on('member', show)
    show()
    return session
  } catch (problem) {
    if (problem.kind === 'unauthorized' || problem.kind === 'forbidden') return ask()
    status.textContent = problem.message
    throw problem
  }
}

function ask() {
  const link = Object.assign(document.createElement('a'), { href: root.href, textContent: 'Join this gateway first.' })
  status.replaceChildren(link)
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
