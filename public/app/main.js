// The page: it pairs, or shows what there is.

import { Vicinity } from '../vicinity.js'
import { Home } from './home.js'
import { keep, settings } from './settings.js'
import { entrance, takeCode } from './entrance.js'
import { house } from './house.js'

const gateway = new Vicinity(new URL('.', document.baseURI).href, { csrf: settings().csrf })
/** A code that came with the address, until it is spent. */
let invited = takeCode()
let shown = null
let home = null

function put(part) {
  shown?.element.remove()
  shown?.removed?.()
  shown = part
  document.body.append(part.element)
  part.update?.()
}

/** All changes of one moment are drawn once. */
let isDrawn = true
function changed() {
  if (!isDrawn) return
  isDrawn = false
  requestAnimationFrame(() => {
    isDrawn = true
    shown?.update?.()
  })
}
// A hidden page draws nothing by itself, and its title should still say what is new.
setInterval(() => shown?.update?.(), 1000)

async function start() {
  home?.close()
  home = null
  let about
  try {
    about = await gateway.get('/v1/gateway')
  } catch (problem) {
    put(entrance({ gateway, about: null, problem, done: start }))
    setTimeout(start, 3000)
    return
  }
  // Browsers send the cookie below this path alone.
  if (about.basePath && !location.pathname.startsWith(`${about.basePath}/`)) {
    const code = invited ? `#code=${invited}` : ''
    return location.replace(`${about.basePath}/${location.search}${code}`)
  }
  // Without its CSRF value a cookie only lets look on: it is of no use, and a code gives both anew.
  const isKnown = about.client && gateway.csrf
  if (!isKnown) return put(entrance({ gateway, about, problem: gateway.problem, invited, done: start }))
  if (about.client.role !== 'viewer' && !settings().name.trim()) keep({ name: about.client.name.trim() })
  invited = ''
  home = new Home(gateway, about, changed)
  put(house(home))
}

addEventListener('hashchange', () => {
  invited = takeCode() || invited
  if (invited && !home) start()
})

gateway.addEventListener('state', () => {
  if (gateway.state === 'refused' && home) start()
  changed()
})

start()
