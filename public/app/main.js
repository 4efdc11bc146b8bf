// The page: it joins the gateway, or shows what there is.

import { StoredClient } from '../client/stored-client.js'
import { Home } from './home.js'
import { behind } from './join-link.js'
import { join, takeLink } from './join.js'
import { keep, settings } from './settings.js'
import { shell } from './shell.js'
import { useLanguage } from './texts.js'

const gateway = new StoredClient(new URL('.', document.baseURI).href, { csrf: settings().csrf })
/** The code that came with the address, and what its guest comes for, until it is spent. */
let invited = takeLink()
let shown = null
/** Makes what is shown, in the language of the moment. */
let make = null
let home = null
/** Whether this browser has joined, also as a guest. */
let isIn = false

function put(maker) {
  make = maker
  shown?.element.remove()
  shown?.removed?.()
  shown = make()
  document.body.append(shown.element)
  shown.update?.()
}

/** All of the page is made anew in the language that was chosen; what is typed and not sent stays with its session. */
async function speak(language) {
  keep({ language })
  await useLanguage(language)
  put(make)
}

/** All changes of one moment are drawn once, and frames take a fifth of the time at most, however many changes there are. */
const idleShare = 4
let isWanted = false
let isDrawing = false
let drawnUntil = 0
function changed() {
  if (isWanted) return
  isWanted = true
  if (!isDrawing) plan()
}

function plan() {
  const pause = drawnUntil - performance.now()
  if (pause > 0) setTimeout(() => requestAnimationFrame(draw), pause)
  else requestAnimationFrame(draw)
}

function draw() {
  isWanted = false
  isDrawing = true
  const start = performance.now()
  shown?.update?.()
  // After the browser has laid out and painted it.
  setTimeout(() => {
    const end = performance.now()
    drawnUntil = end + idleShare * (end - start)
    isDrawing = false
    if (isWanted) plan()
  })
}
// A hidden page draws nothing by itself, and its title should still say what is new.
setInterval(() => (document.hidden ? shown?.update?.() : changed()), 1000)

async function start() {
  home?.close()
  home = null
  isIn = false
  let about
  try {
    about = await gateway.get('/v1/gateway')
  } catch (problem) {
    put(() => join({ gateway, about: null, problem, done: start, speak }))
    setTimeout(start, 3000)
    return
  }
  // Browsers send the cookie below this path alone.
  if (about.basePath && !location.pathname.startsWith(`${about.basePath}/`)) {
    return location.replace(`${about.basePath}/${location.search}${behind(invited ?? {})}`)
  }
  // Without its CSRF value a cookie only lets read: it is of no use, and a code gives both anew.
  const isKnown = about.client && gateway.csrf && !isForOtherGuest()
  if (!isKnown) {
    const { problem } = gateway
    return put(() => join({ gateway, about, problem, invited, done: start, speak }))
  }
  if (about.client.role !== 'viewer' && !settings().name.trim()) keep({ name: about.client.name.trim() })
  // From here on this browser is a guest of that, and of nothing else.
  if (invited?.guest) keep({ guest: invited.guest })
  invited = null
  isIn = true
  if (settings().guest) {
    const [{ guestPage }, { guestRoom }] = await Promise.all([import('./guest.js'), import('./guest-room.js')])
    return put(() => (settings().guest.peer ? guestPage : guestRoom)(gateway, about, changed))
  }
  home = new Home(gateway, about, changed)
  put(() => shell(home, speak))
}

/** The token of a guest is for what it came for, and another invitation brings another one. */
function isForOtherGuest() {
  const { guest } = settings()
  return Boolean(guest && invited?.guest && guest.type !== invited.guest.type)
}

addEventListener('hashchange', () => {
  invited = takeLink() ?? invited
  if (invited && !home) start()
})

gateway.addEventListener('state', () => {
  if (gateway.state === 'refused' && isIn) start()
  changed()
})

await useLanguage(settings().language)
start()
