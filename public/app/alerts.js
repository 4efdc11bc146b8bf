// Notifications and a sound for invitations and messages, where that is wished and allowed: while nobody looks at the page.

import { h, say, show } from './dom.js'
import { keep, settings } from './settings.js'
import { t } from './texts.js'

const canNotify = globalThis.Notification !== undefined && isSecureContext

/** The choice, for the page of the gateway; nothing where the browser has no notifications here. */
export function alertChoice() {
  if (!canNotify) return null
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

/** Looks for news at each update. `open` is called with the view that a notification leads to. */
export function alerts(home, open) {
  const rung = new Set(home.incoming.map(({ id }) => id))
  let unread = 0

  function notify(view, title, body = '') {
    if (!canNotify || !document.hidden || !settings().alerts || Notification.permission !== 'granted') return
    const notification = new Notification(title, { body, icon: 'icon.svg', tag: view })
    notification.onclick = () => {
      notification.close()
      window.focus()
      open(view)
    }
    sound()
  }

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
  }
}

/** Two short tones, made here. */
function sound() {
  const context = new AudioContext()
  const volume = new GainNode(context, { gain: 0.06 })
  volume.connect(context.destination)
  for (const [place, frequency] of [660, 880].entries()) {
    const tone = new OscillatorNode(context, { frequency })
    tone.connect(volume)
    tone.start(context.currentTime + place * 0.12)
    tone.stop(context.currentTime + place * 0.12 + 0.1)
    tone.onended = place === 1 ? () => context.close() : null
  }
}
