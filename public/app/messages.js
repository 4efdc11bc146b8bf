// The entries of a session's log that are no files: what was said, and who came and went.

import { h, icon, say, set, show } from './dom.js'
import { delivered } from './icons.js'
import { t } from './texts.js'
import { dateAndTime, names, sentence, size, time } from './words.js'

/** Entries of one person within this time stand together. */
const togetherTime = 5 * 60_000
const link = /https?:\/\/[^\s<>"]+[^\s<>".,;:!?)\]}]/g

/** Whether an entry goes on with what the one before it says. */
export function belongs(entry, before) {
  return before?.kind === entry.kind && entry.kind === 'message' && before.from === entry.from
    && before.isMine === entry.isMine && Date.parse(entry.at) - Date.parse(before.at) < togetherTime
}

const stamp = (at) => h('time', { datetime: at, title: dateAndTime(at) }, time(at))

export function note(room, { event, at }) {
  return { element: h('div', { class: 'happening' }, h('span', {}, room.happening(event)), stamp(at)) }
}

export function message(room, { key, isMine, at }) {
  const who = h('span', { class: 'who' })
  const text = h('p', { class: 'text' })
  const status = isMine ? deliveryStatus(room, key) : null
  const element = h('div', { class: `message ${isMine ? 'mine' : ''}` },
    h('p', { class: 'byline' }, who, stamp(at)), h('div', { class: 'said' }, status?.mark, text), status?.element)
  let shown = null
  /** The message for which it was drawn: most messages stay as they are. */
  let drawn = {}

  return {
    element,
    update(message) {
      const { source, isFirst, peopleCount, isOnline } = message
      const isSame = source === drawn.source && isFirst === drawn.isFirst && peopleCount === drawn.peopleCount
      if (isSame && (message.isSent || isOnline === drawn.isOnline)) return
      drawn = message
      set(element, 'data-first', message.isFirst && 'yes')
      say(who, author(room, message))
      const body = said(message)
      if (body !== shown) text.replaceChildren(...withLinks(body))
      shown = body
      set(element, 'data-state', status?.update(message))
    },
  }
}

/** The delivery status of an own message. */
function deliveryStatus(room, key) {
  const mark = h('span', { class: 'delivery', role: 'img', 'aria-label': t('message.delivered'), title: t('message.delivered') }, icon(delivered))
  const state = h('span', { class: 'sending' })
  const again = h('button', { class: 'link', onclick: () => room.again(key) }, t('message.again'))
  const discard = h('button', { class: 'link', onclick: () => room.discard(key) }, t('message.discard'))
  return {
    mark,
    element: h('p', { class: 'delivery-status' }, state, again, discard),
    /** In a word; null while there is nothing to say. */
    update({ problem, isSent, isOnline, delivery }) {
      const { undelivered = 0, delivered = 0, pending = 0 } = delivery ?? {}
      show(mark, delivered > 0 && pending + undelivered === 0)
      show(again, Boolean(problem))
      show(discard, Boolean(problem))
      say(state, problem ? t('message.notSent', { why: sentence(problem) })
        : undelivered > 0 ? t('message.undelivered', { count: undelivered })
          : isSent ? '' : t(isOnline ? 'message.sending' : 'message.waiting'))
      return problem || undelivered > 0 ? 'failed' : isSent ? null : 'sending'
    },
  }
}

function said(message) {
  if (message.damaged) return t('message.damaged')
  return message.encoding === 'base64' ? t('message.binary', { size: size(message.size) }) : message.body
}

/** The text, with links for addresses: they open elsewhere, without a referrer or an opener. */
function withLinks(text) {
  const parts = []
  let end = 0
  for (const { 0: address, index } of text.matchAll(link)) {
    parts.push(text.slice(end, index), h('a', { href: address, target: '_blank', rel: 'noopener noreferrer' }, address))
    end = index + address.length
  }
  return [...parts, text.slice(end)]
}

/** The sender, and the recipients if it is for some only. */
function author(room, message) {
  const isForSome = message.to?.length > 0 && message.peopleCount > 1
  if (!isForSome) return message.isMine ? t('message.you') : message.displayName
  if (!message.isMine) return t('message.toYou', { name: message.displayName })
  return t('message.youTo', { names: names(message.to.map((peer) => room.standing(peer)?.displayName ?? t('somebody'))) })
}
