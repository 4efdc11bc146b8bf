// The sheet that puts a session together: nearby peers with their states, the fewest and the most members, Done and Cancel.

import { avatar } from './avatar.js'
import { h, icon, say, set, show } from './dom.js'
import { verified } from './icons.js'
import { t } from './texts.js'
import { virtualList } from './virtual-list.js'
import { away, joined, worded } from './words.js'

/** Default numbers of members, this person included. */
const [fewestByDefault, mostByDefault] = [2, 8]
const most = 256
const rowHeight = 62
const byName = new Intl.Collator()

/** The filter: each word has to be in the name or in the discovery info. */
export function isShown({ displayName, discoveryInfo = {} }, words) {
  const told = [displayName, ...Object.entries(discoveryInfo).map(([key, value]) => `${key}=${value}`)].map((text) => text.toLowerCase())
  return words.trim().toLowerCase().split(/\s+/).every((word) => told.some((text) => text.includes(word)))
}

/** Opens the sheet for an unused session. `open` is called after Done, `closed` whenever the sheet has closed. */
export async function gather(home, open, closed) {
  const wasLooking = home.isLooking
  if (!wasLooking) await home.look(true)
  const unused = home.room && !home.room.isUsed ? home.room : null
  const id = unused?.id ?? (await home.openSession()).id
  home.select(id)
  let shown = []

  const number = (name, value) => h('input', {
    type: 'number', min: 2, max: most, value, required: true, inputmode: 'numeric', 'aria-label': t(`gather.${name}`), oninput: () => update(),
  })
  const [fewest, upTo] = [number('fewest', fewestByDefault), number('most', mostByDefault)]
  const filter = h('input', { type: 'search', 'aria-label': t('gather.filter'), placeholder: t('gather.filter'), oninput: () => update() })
  const status = h('span', { role: 'status', class: 'grow' })
  const people = h('ul', { class: 'people' })
  const scroller = h('div', { class: 'scroller', onscroll: () => entries.moved() }, people)
  const entries = virtualList(scroller, people, {
    make: (peer) => person(peer), key: (peer) => peer.id, entryHeight: rowHeight, resized: () => update(),
    prepare: (drawn) => drawn.map((peer, place) => ({ ...peer, place: entries.start + place + 1, count: shown.length })),
  })
  const empty = h('p', { class: 'empty' })
  const done = h('button', { class: 'primary', type: 'button', onclick: () => dialog.close('done') }, t('gather.done'))
  const dialog = h('dialog', { class: 'question gathering', 'aria-labelledby': 'gathering-title', onclose: end },
    h('form', { method: 'dialog', onsubmit: (event) => event.preventDefault() },
      h('h2', { id: 'gathering-title' }, t('gather.title')),
      h('div', { class: 'row wrap' },
        h('label', { class: 'row' }, h('span', {}, t('gather.fewest')), fewest), h('label', { class: 'row' }, h('span', {}, t('gather.most')), upTo)),
      h('div', { class: 'row' }, h('span', { class: 'pulse', 'aria-hidden': 'true' }), status),
      filter, scroller, empty,
      h('div', { class: 'answers' }, h('button', { type: 'button', autofocus: true, onclick: () => dialog.close('') }, t('cancel')), done)))

  const room = () => home.rooms.find((one) => one.id === id)
  /** The number of members, this person included. */
  const count = () => 1 + (room()?.connectedCount ?? 0)
  const limits = () => {
    const [low, high] = [fewest, upTo].map((input) => Math.min(most, Math.max(2, Number(input.value) || 2)))
    return [low, Math.max(low, high)]
  }

  function update() {
    const [low, high] = limits()
    const isIn = count()
    const words = filter.value
    // A peer that is not known yet is asked for when it is drawn.
    const isWith = (peer) => room()?.known(peer.id)?.state === 'connected'
    shown = home.nearby.filter((peer) => isWith(peer) || isShown(peer, words)).sort((a, b) => byName.compare(a.displayName, b.displayName))
    entries.draw(shown, false)
    show(empty, shown.length === 0)
    say(empty, words.trim() ? t('nearby.noMatch', { text: words.trim() }) : t('nearby.searching'))
    say(status, low === high ? t('gather.inExactly', { count: isIn, low }) : t('gather.in', { count: isIn, low, high }))
    done.disabled = isIn < low || isIn > high
  }

  async function end() {
    dialog.remove()
    closed()
    if (!wasLooking) home.attempt(() => home.look(false))
    if (dialog.returnValue === 'done') return open()
    await home.attempt(giveUp)
  }

  /** Cancels pending invitations and leaves the session; other sessions stay. */
  async function giveUp() {
    const asked = home.invitations.items.filter((one) => one.direction === 'outgoing' && one.session === id && one.state === 'pending')
    for (const invitation of asked) await home.cancelInvitation(invitation)
    const isTouched = room()?.members.items.length > 0
    if (!unused || isTouched) await home.gateway.delete(`/v1/sessions/${id}`)
    await home.settle()
  }

  function person({ id: peer }) {
    const picture = avatar()
    const name = h('strong', { class: 'cut' })
    const mark = h('span', { class: 'mark', role: 'img', 'aria-label': t('verified'), title: t('verified') }, icon(verified))
    const state = h('span', { class: 'hint' })
    const invite = h('button', { type: 'button', onclick: () => home.attempt(() => home.invite(peer, '')) }, t('invite'))
    const cancel = h('button', {
      type: 'button', class: 'quiet', onclick: () => home.attempt(() => home.cancelInvitation(home.invitationTo(peer))),
    }, t('invitations.cancel'))
    const element = h('li', {}, h('div', { class: 'row' }, picture.element,
      h('div', { class: 'grow stack' }, h('div', { class: 'row tight' }, name, mark), state), invite, cancel))
    return {
      element,
      update(item) {
        const standing = room()?.standing(peer)?.state
        const invitation = home.invitationTo(peer)
        const isAsked = invitation?.state === 'pending'
        const isIn = standing === 'connected'
        set(element, 'aria-posinset', item.place)
        set(element, 'aria-setsize', item.count)
        set(element, 'data-state', isIn ? 'connected' : isAsked ? 'inviting' : invitation?.state ?? 'nearby')
        picture.update(item.displayName, isIn && !item.awaySince)
        say(name, item.displayName)
        show(mark, item.verified)
        const word = isIn ? t('member.connected') : standing === 'connecting' ? t('member.connecting')
          : isAsked ? t('invitations.sent') : !invitation || invitation.state === 'accepted' ? t('nearby.title') : worded('invitation', invitation.state)
        say(state, joined(word, away(item.awaySince)))
        show(cancel, isAsked)
        show(invite, !isAsked && !isIn && standing !== 'connecting')
        invite.disabled = count() + pending() >= limits()[1] || home.isBlocked(peer)
      },
    }
  }

  /** The number of pending invitations. */
  const pending = () => home.invitations.items.filter((one) => one.direction === 'outgoing' && one.session === id && one.state === 'pending').length

  document.querySelector('.shell').append(dialog)
  dialog.showModal()
  update()
  return { update, close: () => dialog.close('') }
}
