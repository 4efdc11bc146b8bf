// A guest of a session: a name, and its chat.

import { Emitter } from '../client/emitter.js'
import { Attempts } from './attempts.js'
import { chat } from './chat.js'
import { h } from './dom.js'
import { enter } from './guest.js'
import { notes, stateOf } from './notes.js'
import { ask } from './question.js'
import { Room } from './room.js'
import { forget, keep, settings } from './settings.js'
import { t } from './texts.js'
import { Transfers } from './transfers.js'

/** The part of a `Home` that a chat needs, with the scopes of a guest: one session, and no events. */
class GuestHome extends Attempts {
  canAct = true
  isGuest = true
  hasName = true
  room
  events = Object.assign(new Emitter(), { items: [] })

  constructor(gateway, about, changed) {
    super(changed)
    Object.assign(this, { gateway, about })
    this.transfers = new Transfers(this)
    this.attempt(async () => {
      const session = await enter(gateway, settings())
      this.room = Object.assign(new Room(this, session.id), { session })
      changed()
    })
  }

  get rooms() { return this.room ? [this.room] : [] }

  /** Deletes the guest at the gateway, and here. */
  async leave() {
    const kept = settings()
    forget()
    try {
      await this.gateway.deleteSelf()
    } catch (problem) {
      keep(kept)
      throw problem
    }
  }
}

export function guestRoom(gateway, about, changed) {
  const home = new GuestHome(gateway, about, changed)
  const [state, top, talk] = [stateOf(gateway), notes(home), chat(home)]
  const leave = h('button', { class: 'quiet', onclick: async () => {
    const answer = await ask({
      title: t('own.deleteQuestion'), text: [t('own.deleteText')],
      answers: [{ value: 'leave', name: t('own.deleteYes'), kind: 'danger' }],
    })
    if (answer) await home.attempt(() => home.leave())
  } }, t('leave.button'))
  const element = h('div', { class: 'shell alone' },
    h('header', { class: 'head' },
      h('img', { src: 'icon.svg', alt: '', width: 30, height: 30 }), h('h1', {}, about.name), state.element, leave),
    top.element, h('main', {}, h('div', { class: 'page' }, talk.element)))
  return {
    element,
    update() {
      state.update()
      top.update()
      talk.update()
    },
    removed() {
      talk.removed()
      home.room?.close()
    },
  }
}
