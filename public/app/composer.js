// Writing a message, and choosing files and who receives them.

import { h, icon, set, show } from './dom.js'
import { paperclip, send as arrow } from './icons.js'
import { t } from './texts.js'

/** `sent` is called after each message, `sendFiles` with files. */
export function makeComposer(home, { sent, sendFiles }) {
  const text = h('textarea', {
    rows: 1, 'aria-label': t('message.label'), placeholder: t('message.label'), enterkeyhint: 'send', oninput: typed,
    onkeydown: key, onpaste: (event) => {
      if (event.clipboardData.files.length === 0) return
      event.preventDefault()
      sendFiles([...event.clipboardData.files])
    },
  })
  const files = h('input', { type: 'file', multiple: true, hidden: true, onchange: () => {
    sendFiles([...files.files])
    files.value = ''
  } })
  const attach = h('button', {
    type: 'button', class: 'round', 'aria-label': t('file.send'), title: t('file.send'), onclick: () => files.click(),
  }, icon(paperclip))
  const send = h('button', { class: 'round primary', 'aria-label': t('send'), title: t('send') }, icon(arrow))
  const to = h('select', { 'aria-label': t('message.to'), onchange: () => {
    home.room.recipient = to.value || null
    home.changed()
  } })
  const element = h('form', { class: 'composer', onsubmit: submit }, attach, files, to, text, send)
  let choices = ''
  let offered = null

  function typed() {
    home.room.draft = text.value
    if (text.value !== '') home.room.tellTyping()
    send.disabled = text.value.trim() === ''
  }

  function key(event) {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    element.requestSubmit()
  }

  function submit(event) {
    event.preventDefault()
    const said = text.value.trim()
    if (!said || !home.room?.connectedCount) return
    text.value = ''
    typed()
    home.room.send(said)
    sent()
    text.focus()
  }

  return {
    element,
    update(room) {
      show(element, home.canAct && Boolean(room))
      if (!room) return
      const people = room.connected
      if (room.recipient && room.standing(room.recipient)?.state !== 'connected') room.recipient = null
      const wanted = people === offered ? choices : JSON.stringify(people.map((member) => [member.peer, member.displayName]))
      offered = people
      if (wanted !== choices) {
        choices = wanted
        to.replaceChildren(h('option', { value: '' }, t('message.toAll')),
          ...people.map((member) => h('option', { value: member.peer }, t('message.toOne', { name: member.displayName }))))
      }
      to.value = room.recipient ?? ''
      show(to, people.length > 1)
      if (text.value !== room.draft) text.value = room.draft
      const isAlone = room.connectedCount === 0
      text.disabled = attach.disabled = isAlone
      set(text, 'placeholder', t(isAlone ? 'session.empty' : 'message.label'))
      send.disabled = isAlone || text.value.trim() === ''
    },
  }
}
