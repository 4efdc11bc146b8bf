// Guests of a session: a link and QR code with which several people chat in it for some hours, with no account and no app.
//
// The session gets a service type of its own in ad hoc mode, which the gateway ends when the time is over; guests open a session of
// that type.

import { copyButton } from './copy.js'
import { h, say, show } from './dom.js'
import { guestsMax, makeGuestCode } from './guest-code.js'
import { guestType, isForGuests } from './join-link.js'
import { qrImage } from './qr.js'
import { keep, settings } from './settings.js'
import { t } from './texts.js'
import { duration, sentence, timeLeft } from './words.js'

/** A guest has a peer, joins the session, and sends messages and files. */
const guestScopes = ['peers', 'sessions', 'messages', 'resources']
const guestsByDefault = 10
/** A token that is given over plain HTTP is good for twelve hours. */
const hours = [1, 3, 6, 12]

/** Opens the dialog for a session. */
export function inviteGuests(home, room) {
  const count = h('input', {
    id: 'guest-count', type: 'number', min: 2, max: guestsMax, value: guestsByDefault, required: true, inputmode: 'numeric',
  })
  const life = h('select', { id: 'guest-hours' }, hours.map((one) => h('option', { value: one * 3600 }, duration(one * 3600))))
  life.value = 3 * 3600
  const error = h('p', { class: 'error', role: 'alert', hidden: true })
  const left = h('p')
  const link = h('a', { class: 'cut' })
  const copy = copyButton(t('codes.copy'), () => link.href)
  const picture = h('div')
  const shown = h('div', { class: 'newcode', 'aria-live': 'polite' },
    picture, h('div', { class: 'stack grow' }, left, link, h('div', { class: 'row' }, copy)))
  const fields = h('div', { class: 'row wrap bottom' },
    h('div', { class: 'stack grow' }, h('label', { for: 'guest-count' }, t('guests.count')), count),
    h('div', { class: 'stack grow' }, h('label', { for: 'guest-hours' }, t('codes.life')), life))
  const make = h('button', { class: 'primary' }, t('codes.make'))
  const stop = h('button', { type: 'button', class: 'danger', onclick: () => attempt(end) }, t('guests.stop'))
  const dialog = h('dialog', { class: 'question', 'aria-labelledby': 'guests-title', onclose: () => dialog.remove() },
    h('form', { method: 'dialog', onsubmit: (event) => {
      event.preventDefault()
      attempt(begin)
    } },
    h('h2', { id: 'guests-title' }, t('guests.title')), h('p', {}, t('guests.what')), fields, shown, error,
    h('div', { class: 'answers' }, h('button', { type: 'button', onclick: () => dialog.close() }, t('close')), stop, make)))

  const kept = () => settings().guests[room.id]

  async function attempt(work) {
    show(error, false)
    make.disabled = stop.disabled = true
    try {
      await work()
      await draw()
    } catch (problem) {
      say(error, sentence(problem))
      show(error, true)
    }
    make.disabled = stop.disabled = false
  }

  async function begin() {
    // A session that everybody may join has a type already.
    const type = room.session.adhoc ?? guestType(room.id)
    const made = await makeGuestCode(home, {
      guest: { type }, scopes: guestScopes, label: t('guests.label'), seconds: Number(life.value), uses: Number(count.value),
    })
    const isOwn = !room.session.adhoc || isForGuests(room.session)
    if (isOwn) await home.gateway.patch(room.path, { adhoc: type, adhocSeconds: Number(life.value) })
    keep({ guests: { ...settings().guests, [room.id]: made } })
  }

  async function end() {
    const { [room.id]: made, ...guests } = settings().guests
    await home.gateway.delete(`/v1/pairing-codes/${made.code}`)
    if (isForGuests(room.session)) await home.gateway.patch(room.path, { adhoc: null })
    keep({ guests })
  }

  async function draw() {
    const made = kept()
    // Codes end when the gateway is started anew.
    const isOpen = Boolean(made) && timeLeft(made.until) !== '' && made.startedAt === home.about.startedAt
    for (const part of [fields, make]) show(part, !isOpen)
    for (const part of [shown, stop]) show(part, isOpen)
    if (!isOpen) return
    say(left, t('guests.use', { time: timeLeft(made.until) }))
    link.textContent = link.href = made.link
    picture.replaceChildren(await qrImage(home.gateway, made.link, t('codes.qr')))
  }

  document.querySelector('.shell').append(dialog)
  dialog.showModal()
  attempt(async () => {})
}
