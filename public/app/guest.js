// A guest of a photo wall: a name, a button, and the photos that were added.

import { h, list, say, show } from './dom.js'
import { settings } from './settings.js'
import { t } from './texts.js'
import { sentence } from './words.js'

/** Larger ones are made smaller: that is faster, and leaves out where they were taken. */
const sideMax = 2560
const quality = 0.86

/** The peer and the session of this guest, as they are or made now. */
export async function enter(gateway, { name, guest }) {
  const peers = await gateway.get('/v1/peers')
  const peer = peers.items.find((one) => !one.isGateway) ?? await gateway.post('/v1/peers', { displayName: name })
  const sessions = await gateway.get('/v1/sessions')
  return sessions.items.find((one) => one.adhoc === guest.type)
    ?? await gateway.post('/v1/sessions', { peer: peer.id, adhoc: guest.type })
}

async function smaller(file) {
  const image = await createImageBitmap(file).catch(() => null)
  if (!image) return file
  const scale = Math.min(1, sideMax / Math.max(image.width, image.height))
  const canvas = h('canvas', { width: Math.round(image.width * scale), height: Math.round(image.height * scale) })
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height)
  const blob = await new Promise((resolve) => { canvas.toBlob(resolve, 'image/jpeg', quality) })
  return blob ? new File([blob], `${file.name.replace(/\.\w+$/, '')}.jpg`, { type: blob.type }) : file
}

export function guestPage(gateway, about) {
  const kept = settings()
  let session = null
  let members = null
  let problem = null
  /** The photos of this page: their file, how much of each is sent, and how it ended. */
  const photos = []
  const state = h('p', { class: 'hint', role: 'status' })
  const choose = h('input', { type: 'file', accept: 'image/*', multiple: true, id: 'photos', class: 'hiddenfile', onchange: () => {
    for (const file of choose.files) add(file)
    choose.value = ''
  } })
  const rows = h('ul', { class: 'rows' })
  const draw = list(rows, photoRow)
  const element = h('main', { class: 'join guest' },
    h('div', { class: 'card' },
      h('img', { src: 'icon.svg', alt: '', width: 48, height: 48 }),
      h('h1', {}, t('wall.name')), h('p', { class: 'hint' }, t('guest.at', { gateway: about.name, name: kept.name })),
      choose, h('label', { for: 'photos', class: 'button primary wide' }, t('guest.add')), state),
    rows)

  const wall = () => gateway.state === 'online' && members?.items[0]

  function add(file) {
    const photo = { id: `${photos.length}`, name: file.name, sent: 0, state: 'waiting', address: URL.createObjectURL(file), file }
    photos.unshift(photo)
    update()
  }

  /** One after the other; what waits for the wall goes once it is connected. */
  let isSending = false
  async function sendWaiting() {
    if (isSending) return
    isSending = true
    for (let photo; wall() && (photo = photos.findLast((one) => one.state === 'waiting'));) {
      photo.state = 'sending'
      let isOffered = false
      try {
        await gateway.upload(session.id, await smaller(photo.file), {
          to: kept.guest.peer, onstart: () => { isOffered = true }, onprogress: (sent, size) => {
            photo.sent = size ? sent / size : 1
            update()
          },
        })
        photo.state = 'sent'
      } catch (error) {
        // The gateway has gone before it knew of this one: it waits for its return.
        if (error.kind === 'offline' && !isOffered) photo.state = 'waiting'
        else Object.assign(photo, { state: 'failed', problem: sentence(error) })
      }
      update()
    }
    isSending = false
  }

  function photoRow(photo) {
    const text = h('span', { class: 'hint' })
    const progress = h('progress', { max: 1, 'aria-label': t('file.progress') })
    return {
      element: h('li', { class: 'row' }, h('img', { src: photo.address, alt: '', class: 'thumb' }),
        h('div', { class: 'grow stack' }, h('strong', { class: 'cut' }, photo.name), text, progress)),
      update() {
        say(text, photo.problem ?? t(`guest.${photo.state}`))
        show(progress, photo.state === 'sending')
        progress.value = photo.sent
      },
    }
  }

  function update() {
    say(state, problem ? sentence(problem) : t(wall() ? 'guest.connected' : 'guest.connecting'))
    draw(photos)
    show(rows, photos.length > 0)
    sendWaiting()
  }

  enter(gateway, kept).then((made) => {
    session = made
    members = gateway.follow(`/v1/sessions/${session.id}/members?limit=1&state=connected&peer=${kept.guest.peer}`)
    members.onchange = update
  }).catch((error) => {
    problem = error
    update()
  })
  return { element, update, removed: () => members?.close() }
}
