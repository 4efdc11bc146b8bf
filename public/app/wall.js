// A photo wall: whoever opens its link adds photos with no account and no app; the newest one is large.
//
// The wall is a peer of its own with an open session: guests are paired by one code for many, find it by its service type,
// and send it their photos as resources.

import { h, icon, list, say, set, show } from './dom.js'
import { gatewayPicture, shownImages } from './file-card.js'
import { makeGuestCode } from './guest-code.js'
import { expand, wall as wallShape } from './icons.js'
import { qrImage } from './qr.js'
import { ask } from './question.js'
import { Room } from './room.js'
import { keep, settings } from './settings.js'
import { t } from './texts.js'
import { timeLeft } from './words.js'

const openSeconds = 6 * 3600
/** The page of a guest: it has a peer, joins a session, and sends resources. */
const guestScopes = ['peers', 'sessions', 'resources']
const thumbsMax = 60

/** Makes the peer, its session, and where this client may, the code for guests. */
async function openWall(home) {
  const { gateway } = home
  const peer = await gateway.post('/v1/peers', { displayName: t('wall.name') })
  const type = `wall-${peer.id.slice(0, 8).replace(/^[0-9]/, 'w')}`
  const session = await gateway.post('/v1/sessions', { peer: peer.id, adhoc: type, resources: 'accept' })
  const wall = { peer: peer.id, session: session.id, type }
  if (home.isOperator) Object.assign(wall, await makeCode(home, wall, openSeconds))
  keep({ wall })
}

const makeCode = (home, { peer, type }, seconds) =>
  makeGuestCode(home, { guest: { type, peer }, scopes: guestScopes, label: t('wall.name'), seconds })

async function closeWall(home, wall) {
  keep({ wall: null })
  if (wall.code) await home.gateway.delete(`/v1/pairing-codes/${wall.code}`)
  await home.gateway.delete(`/v1/peers/${wall.peer}`)
}

export function wallPage(home, element) {
  let room = null
  let chosen = null
  let linked = null
  let isRenewing = false
  const large = h('div', { class: 'large' })
  const thumbs = h('ul', { class: 'thumbs', tabindex: 0, 'aria-label': t('wall.photos') })
  const drawThumbs = list(thumbs, thumb)
  const count = h('p', { class: 'hint', role: 'status' })
  const code = h('div', { class: 'wallcode' })
  const full = h('button', { class: 'round', 'aria-label': t('wall.full'), title: t('wall.full'), onclick: toggleFull }, icon(expand))
  const close = h('button', { onclick: () => home.attempt(askToClose) }, t('wall.close'))
  const board = h('div', { class: 'board' }, large, thumbs,
    h('div', { class: 'row wallbar' }, code, h('div', { class: 'grow' }, count), full, close))
  const begin = h('div', { class: 'empty roomy stack' }, icon(wallShape), h('h2', {}, t('wall.name')), h('p', {}, t('wall.what')),
    h('button', { class: 'primary', onclick: () => home.attempt(() => openWall(home)) }, t('wall.open')))
  element.append(begin, board)

  const isPhoto = (one) => one.direction === 'incoming' && one.state === 'complete' && shownImages.includes(one.contentType.split(';')[0])
  const pictureOf = ({ content, displayName }, properties) => gatewayPicture(
    home.gateway, home.gateway.address + content, { alt: t('wall.photoOf', { name: displayName }), ...properties })

  function toggleFull() {
    if (document.fullscreenElement) document.exitFullscreen()
    else element.requestFullscreen()
  }

  async function askToClose() {
    const answer = await ask({
      title: t('wall.closeQuestion'), text: [t('wall.closeText')],
      answers: [{ value: 'close', name: t('wall.close'), kind: 'danger' }],
    })
    if (answer) await closeWall(home, settings().wall)
  }

  function thumb(photo) {
    const picture = pictureOf(photo, { loading: 'lazy' })
    const button = h('button', { onclick: () => {
      chosen = photo.id
      update()
    } }, picture)
    return { element: h('li', {}, button), update: ({ id }) => set(button, 'aria-pressed', String(id === large.dataset.photo)) }
  }

  /** The newest photo, once it can be drawn; while there is none, the code stands in its place. */
  async function showLarge(photo) {
    const shown = photo?.id ?? 'none'
    if (large.dataset.photo === shown) return
    large.dataset.photo = shown
    const picture = photo && pictureOf(photo)
    await picture?.decode().catch(() => {})
    // Another one may have come meanwhile.
    if (large.dataset.photo !== shown) return
    large.replaceChildren(photo
      ? h('figure', {}, picture, h('figcaption', {}, photo.displayName))
      : h('p', { class: 'empty roomy' }, t(home.isOperator ? 'wall.empty' : 'wall.emptyNoCode')))
    set(board, 'data-empty', !photo && 'yes')
  }

  /** Codes end when the gateway is started anew, and the wall goes on. */
  async function renewCode(wall) {
    isRenewing = true
    const seconds = Math.max(60, Math.round((new Date(wall.until) - Date.now()) / 1000))
    const made = await home.attempt(() => makeCode(home, wall, seconds))
    if (made) keep({ wall: { ...wall, ...made } })
    isRenewing = false
    home.changed()
  }

  async function showCode({ link }) {
    if (linked === link) return
    linked = link
    code.replaceChildren()
    if (!link) return
    const picture = await home.attempt(() => qrImage(home.gateway, link, t('wall.qr')))
    if (!picture) return
    code.replaceChildren(picture, h('div', { class: 'stack' },
      h('strong', {}, t('wall.join')), h('a', { href: link, class: 'hint' }, t('wall.link'))))
  }

  function update() {
    if (element.hidden) return
    const { wall } = settings()
    const session = wall && home.sessions.get(wall.session)
    if (room && room.id !== wall?.session) {
      room.close()
      room = chosen = null
    }
    show(begin, !session && home.canAct)
    show(board, Boolean(session))
    if (!session) return
    room ??= new Room(home, session.id)
    room.session = session
    const photos = room.resources.items.filter(isPhoto).toReversed()
    if (chosen && !photos.some(({ id }) => id === chosen)) chosen = null
    // The newest one, unless another was chosen; one that comes is shown again.
    if (photos[0]?.id !== thumbs.dataset.newest) chosen = null
    thumbs.dataset.newest = photos[0]?.id ?? ''
    showLarge(photos.find(({ id }) => id === chosen) ?? photos[0])
    drawThumbs(photos.slice(0, thumbsMax))
    show(thumbs, photos.length > 0)
    const left = wall.until ? timeLeft(wall.until) : ''
    say(count, [t('wall.count', { count: photos.length }), t('wall.guests', { count: room.connectedCount }), left && t('codes.left', { time: left })]
      .filter(Boolean).join(' · '))
    showCode(left ? wall : {})
    const isStale = left && home.isOperator && wall.startedAt !== home.about.startedAt && home.gateway.state === 'online'
    if (isStale && !isRenewing) renewCode(wall)
    show(full, document.fullscreenEnabled)
  }

  return { update, removed: () => room?.close() }
}
