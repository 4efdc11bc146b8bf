// Notifications and a sound for invitations and messages, each where it is wished and allowed: while nobody looks at the page.

import { h, say, show } from './dom.js'
import { keep, settings } from './settings.js'
import { t } from './texts.js'

const canNotify = globalThis.Notification !== undefined && isSecureContext

/** The choices, for the page of the gateway. A sound works over plain HTTP too, where browsers have no notifications. */
export function alertChoice() {
  const box = h('input', { type: 'checkbox', onchange: () => {
    keep({ sound: box.checked })
    if (box.checked) sound()
  } })
  box.checked = wantsSound()
  return h('div', { class: 'stack' }, canNotify && notificationChoice(), h('label', { class: 'check' }, box, t('alerts.sound')))
}

function notificationChoice() {
  const hint = h('p', { class: 'hint' })
  const box = h('input', { type: 'checkbox', onchange: async () => {
    if (box.checked && Notification.permission !== 'granted') await Notification.requestPermission()
    keep({ alerts: box.checked && Notification.permission === 'granted' })
    update()
  } })
  function update() {
    box.checked = settings().alerts && Notification.permission === 'granted'
    say(hint, t('alerts.blocked'))
    show(hint, Notification.permission === 'denied')
  }
  update()
  return h('div', { class: 'stack' }, h('label', { class: 'check' }, box, t('alerts.label')), hint)
}

/** Until it is chosen, it goes with notifications. */
const wantsSound = () => settings().sound ?? settings().alerts

/** Looks for news at each update. `open` is called with the view that a notification leads to. */
export function alerts(home, open) {
  const rung = new Set(home.incoming.map(({ id }) => id))
  let unread = 0

  function notify(view, title, body = '') {
    if (!document.hidden) return
    if (wantsSound()) sound()
    if (!canNotify || !settings().alerts || Notification.permission !== 'granted') return
    const notification = new Notification(title, { body, icon: 'icon.svg', tag: view })
    notification.onclick = () => {
      notification.close()
      window.focus()
      open(view)
    }
  }

  // Browsers let a page sound once somebody has used it.
  const gestures = ['pointerdown', 'keydown']
  const allow = () => {
    if (wantsSound()) output().resume().then(() => output().suspend())
    for (const gesture of gestures) removeEventListener(gesture, allow)
  }
  for (const gesture of gestures) addEventListener(gesture, allow)

  return {
    update() {
      for (const { id, displayName, context, encoding } of home.incoming) {
        if (rung.has(id)) continue
        rung.add(id)
        notify('nearby', t('invitations.invites', { name: displayName ?? t('somebody') }), encoding === 'base64' ? '' : context)
      }
      const now = home.rooms.reduce((sum, room) => sum + room.unread, 0)
      if (now > unread) notify('sessions', t('alerts.messages', { count: now }))
      unread = now
    },
    removed() {
      for (const gesture of gestures) removeEventListener(gesture, allow)
    },
  }
}

let audio = null
/** The page's only output of sound; it is suspended while there is none. */
const output = () => (audio ??= new AudioContext())

/** Two short tones, made here. */
function sound() {
  // Browsers would hold them back until somebody uses the page.
  if (navigator.userActivation?.hasBeenActive === false) return
  const context = output()
  context.resume()
  const volume = new GainNode(context, { gain: 0.06 })
  volume.connect(context.destination)
  for (const [place, frequency] of [660, 880].entries()) {
    const tone = new OscillatorNode(context, { frequency })
    tone.connect(volume)
    tone.start(context.currentTime + place * 0.12)
    tone.stop(context.currentTime + place * 0.12 + 0.1)
    if (place === 1) tone.onended = () => {
      volume.disconnect()
      context.suspend()
    }
  }
}
