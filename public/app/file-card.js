// Files that were sent at once: each is offered, on its way, or there.

import { h, icon, list, say, set, show } from './dom.js'
import { file as fileIcon } from './icons.js'
import { ask } from './question.js'
import { t } from './texts.js'
import { dateAndTime, joined, names, sentence, size, sizeOf, time } from './words.js'

/** The content types that a browser shows without running active content. */
export const shownImages = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']
const imageBytesMax = 20e6
const isUnderWay = ({ state }) => state === 'transferring' || state === 'uploading'

/** A picture that the gateway has: one that could not be loaded is loaded again once the gateway is back. */
export function gatewayPicture(gateway, source, properties) {
  const picture = h('img', { ...properties, src: source, onerror: () => {
    const stop = gateway.on('state', (state) => {
      if (state !== 'online') return
      stop()
      picture.src = source
    })
  } })
  return picture
}

/** The card of a group of files, of which each is a line. */
export function filesCard(home, room, { key, at, isMine }) {
  const { transfers } = home
  const who = h('span', { class: 'who' })
  const lines = h('ul', { class: 'filelines' })
  const draw = list(lines, (file) => fileLine(home, room, file, isMine))
  const offered = () => room.files.find((group) => group.key === key).files.flatMap(({ copies }) => copies)
    .filter(({ state }) => state === 'offered')
  const all = (name, work, kind) => h('button', {
    class: kind, onclick: () => home.attempt(() => Promise.all(offered().map((resource) => work(resource)))),
  }, name)
  const together = h('div', { class: 'row end' },
    all(t('file.declineAll'), (resource) => transfers.decline(room, resource), ''),
    all(t('file.acceptAll'), (resource) => transfers.accept(room, resource), 'primary'))
  const element = h('div', { class: `message withfile ${isMine ? 'mine' : ''}`, 'data-first': 'yes' },
    h('p', { class: 'byline' }, who, h('time', { datetime: at, title: dateAndTime(at) }, time(at))),
    h('div', { class: 'file' }, lines, together))

  return {
    element,
    update({ files }) {
      const copies = files.flatMap((file) => file.copies)
      const people = [...new Set(copies.map(({ displayName }) => displayName))]
      say(who, isMine ? t('message.youTo', { names: names(people) }) : people[0])
      set(element, 'data-many', files.length > 1 && 'yes')
      draw(files)
      show(together, home.canAct && !isMine && copies.filter(({ state }) => state === 'offered').length > 1)
    },
  }
}

function fileLine(home, room, { id }, isMine) {
  const { transfers } = home
  let copies = []
  const act = (name, work, kind = '') => h('button', { class: kind, onclick: () => home.attempt(work) }, name)
  const each = (isWanted, work) => () => Promise.all(copies.filter(isWanted).map((copy) => work(copy)))
  const name = h('strong', { class: 'cut filename' })
  const state = h('span', { class: 'hint' })
  const progress = h('progress', { max: 1, 'aria-label': t('file.progress') })
  const picture = h('a', { class: 'picture', target: '_blank', rel: 'noopener', hidden: true })
  const kind = h('span', { class: 'filekind', 'aria-hidden': 'true' }, icon(fileIcon))
  const accept = act(t('accept'), () => transfers.accept(room, copies[0]), 'primary')
  const decline = act(t('decline'), () => transfers.decline(room, copies[0]))
  const save = h('a', { class: 'button primary' }, t('file.save'))
  const pause = act(t('file.pause'), each((copy) => transfers.upload(copy.id), (copy) => transfers.pause(copy)))
  const resume = act(t('file.resume'), each((copy) => transfers.upload(copy.id), (copy) => transfers.resume(copy)), 'primary')
  const again = h('input', { type: 'file', hidden: true, 'aria-label': t('file.choose'), onchange: () => {
    const [content] = again.files
    home.attempt(() => Promise.all(uploadsOf(copies.filter(isAbandoned)).map((some) => transfers.resumeWith(room, some, content))))
    again.value = ''
  } })
  const isAbandoned = (copy) => copy.state === 'uploading' && !transfers.upload(copy.id)
  const choose = h('button', { class: 'primary', onclick: () => again.click() }, t('file.choose'))
  const cancel = act(t('cancel'), each(isUnderWay, (copy) => transfers.remove(room, copy)))
  const remove = act(t('remove'), askToRemove, 'quiet')
  const element = h('li', { class: 'fileline' }, picture, kind,
    h('div', { class: 'stack grow' }, name, state, progress),
    h('div', { class: 'row' }, accept, save, decline, resume, choose, again, pause, cancel, remove))

  /** A file that is only here needs confirmation; one that failed, or was sent, is a line of the list. */
  async function askToRemove() {
    const [resource] = copies
    const answer = isMine || resource.state !== 'complete' || await ask({
      title: t('file.deleteQuestion', { name: resource.name }),
      text: [t('file.deleteText')],
      answers: [{ value: 'delete', name: t('delete'), kind: 'danger' }],
    })
    if (answer) await each(() => true, (copy) => transfers.remove(room, copy))()
  }

  const address = (resource) => home.gateway.address + resource.content

  function showPicture(resource, isHere) {
    const isImage = shownImages.includes(resource.contentType.split(';')[0]) && (resource.size ?? 0) < imageBytesMax
    const source = isImage ? transfers.preview(id) ?? (isHere ? address(resource) : null) : null
    show(picture, source !== null)
    show(kind, source === null)
    if (!source || picture.dataset.source === source) return
    picture.dataset.source = source
    set(picture, 'href', source)
    picture.replaceChildren(gatewayPicture(home.gateway, source, { alt: resource.name }))
  }

  return {
    element,
    update(file) {
      copies = file.copies
      const [resource] = copies
      const uploads = copies.filter((copy) => copy.state === 'uploading')
      const known = uploads.map((copy) => transfers.upload(copy.id)).filter(Boolean)
      const isHere = !isMine && resource.state === 'complete'
      const isGoing = copies.some(isUnderWay)
      say(name, resource.name)
      set(name, 'title', resource.name)
      say(state, copies.length > 1 ? wordsOfAll(copies) : words(resource, transfers.upload(id)))
      set(element, 'data-file', resource.state)
      show(progress, isGoing)
      const done = shareOfAll(copies, transfers)
      if (done === null) progress.removeAttribute('value')
      else progress.value = done
      showPicture(resource, isHere)
      const isOffered = !isMine && resource.state === 'offered'
      show(accept, home.canAct && isOffered)
      show(decline, home.canAct && isOffered)
      show(save, isHere)
      set(save, 'href', isHere && address(resource))
      set(save, 'download', resource.name)
      const mayUpload = home.canAct && isMine
      show(pause, mayUpload && known.some((upload) => !upload.isPaused))
      show(resume, mayUpload && known.length > 0 && known.every((upload) => upload.isPaused))
      show(choose, mayUpload && uploads.length > known.length)
      show(cancel, home.canAct && isGoing)
      show(remove, home.canAct && !isGoing && resource.state !== 'offered')
    },
  }
}

/** Copies by their uploads: those of a group have one. */
function uploadsOf(copies) {
  const uploads = new Map()
  for (const copy of copies) {
    const key = copy.group ?? copy.id
    uploads.set(key, [...uploads.get(key) ?? [], copy])
  }
  return [...uploads.values()]
}

/** The progress of an outgoing file: the upload to the gateway is the first half, the transfer from there the second. */
function share(resource, upload) {
  if (resource.state === 'complete') return 1
  if (!resource.size) return null
  if (resource.state === 'uploading') return (upload?.uploaded ?? resource.uploaded) / resource.size / 2
  const done = resource.bytes / resource.size
  return resource.direction === 'outgoing' ? 0.5 + done / 2 : done
}

function shareOfAll(copies, transfers) {
  const shares = copies.map((copy) => share(copy, transfers.upload(copy.id)))
  return shares.includes(null) ? null : shares.reduce((sum, one) => sum + one, 0) / shares.length
}

/** How many have it, and who does not any more. */
function wordsOfAll(copies) {
  const complete = copies.filter(({ state }) => state === 'complete')
  const failed = copies.filter((copy) => !['complete', 'offered'].includes(copy.state) && !isUnderWay(copy))
  return joined(
    size(copies[0].size ?? 0), t('file.receivedBy', { count: complete.length, total: copies.length }),
    failed.length > 0 && t('file.notReceived', { names: names(failed.map(({ displayName }) => displayName)) }))
}

function words(resource, upload) {
  const whole = resource.size === undefined ? '' : size(resource.size)
  const isMine = resource.direction === 'outgoing'
  const state = (key) => joined(whole, t(`file.${key}`))
  switch (resource.state) {
    case 'uploading':
      if (!upload) return t('file.abandoned', { size: sizeOf(resource.uploaded ?? 0, resource.size) })
      return t(upload.isPaused ? 'file.paused' : 'file.uploading', { size: sizeOf(upload.uploaded, resource.size) })
    case 'offered': return whole
    case 'transferring':
      if (isMine && resource.bytes === 0) return joined(whole, t('file.waiting', { name: resource.displayName }))
      return joined(
        resource.size === undefined ? size(resource.bytes) : sizeOf(resource.bytes, resource.size),
        resource.bytesPerSecond && t('size.perSecond', { size: size(resource.bytesPerSecond) }))
    case 'complete': return isMine ? state('received') : whole
    case 'declined': return state(isMine ? 'declined' : 'youDeclined')
    case 'cancelled': return state('cancelled')
    case 'damaged': return state(isMine ? 'damagedHere' : 'damaged')
    default: return resource.problem ? sentence(resource.problem) : t('file.failed')
  }
}
