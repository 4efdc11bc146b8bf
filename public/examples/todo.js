// A list of things to do that everybody has and may change, also while they are alone: the later change of a thing wins.

import { enter, follow, parse, t } from './example.js'

const itemsMax = 500
const textLengthMax = 200
const place = 'vicinity example todo'

/** Things by their ids; those that are gone stay, so that they do not come back from others. */
const items = new Map(parse(localStorage.getItem(place) ?? '[]').map((item) => [item.id, item]))
let session = null
const list = document.querySelector('#items')
const rows = new Map()

document.querySelector('#add').onsubmit = (event) => {
  event.preventDefault()
  const field = document.querySelector('#text')
  const text = field.value.trim()
  if (!text) return
  change({ id: crypto.getRandomValues(new Uint32Array(4)).join('-'), text, isDone: false, isGone: false, version: 0 })
  field.value = ''
}
draw()

session = await enter('todo')
session.on('message', (message) => {
  const said = parse(message.text)?.items
  if (Array.isArray(said)) said.slice(0, itemsMax).filter(isItem).forEach(merge)
  keep()
})
// A newcomer gets the whole list, and sends its own.
follow(session, { come: (member) => tell([...items.values()], member) })

function tell(some, to = []) {
  // To nobody there is nothing to say.
  session?.send({ items: some }, { to }).catch(() => {})
}

function isItem(item) {
  return typeof item?.id === 'string' && item.id.length < 64 && typeof item.text === 'string' && item.text.length <= textLengthMax
    && typeof item.isDone === 'boolean' && typeof item.isGone === 'boolean' && Number.isSafeInteger(item.version)
}

/** A tie-break: all choose the same one of two changes at the same time. */
function merge({ id, text, isDone, isGone, version }) {
  const item = { id, text, isDone, isGone, version }
  const known = items.get(id)
  if (!known && items.size >= itemsMax) return
  const order = (one) => JSON.stringify([one.text, one.isDone, one.isGone])
  if (known && (known.version > version || (known.version === version && order(known) >= order(item)))) return
  items.set(id, item)
}

function change(item) {
  const later = { ...item, version: item.version + 1 }
  items.set(item.id, later)
  keep()
  tell([later])
}

function keep() {
  localStorage.setItem(place, JSON.stringify([...items.values()]))
  draw()
}

function draw() {
  const shown = [...items.values()].filter((item) => !item.isGone)
  for (const [id, row] of rows) {
    if (items.get(id)?.isGone !== false) {
      row.element.remove()
      rows.delete(id)
    }
  }
  for (const item of shown) {
    if (!rows.has(item.id)) rows.set(item.id, makeRow(item.id))
    rows.get(item.id).update(item)
  }
  const left = shown.filter((item) => !item.isDone).length
  document.querySelector('#count').textContent = shown.length === 0 ? t('todo.none') : t('todo.left', { left, all: shown.length })
}

function makeRow(id) {
  const make = (tag, properties) => Object.assign(document.createElement(tag), properties)
  const box = make('input', { type: 'checkbox', id: `item-${id}`, onchange: () => change({ ...items.get(id), isDone: box.checked }) })
  const label = make('label', { htmlFor: box.id })
  const remove = make('button', { className: 'quiet', onclick: () => change({ ...items.get(id), isGone: true }) })
  const element = make('li', {})
  element.append(box, label, remove)
  list.append(element)
  return {
    element,
    update({ text, isDone }) {
      box.checked = isDone
      label.textContent = text
      remove.textContent = t('todo.remove')
      remove.ariaLabel = t('todo.removeOne', { text })
    },
  }
}
