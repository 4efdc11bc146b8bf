// A file that is offered, on its way, or there.

import { h, say, set, show } from './dom.js'
import { ask } from './question.js'
import { t } from './texts.js'
import { dateAndTime, joined, sentence, size, sizeOf, time } from './words.js'

/** What a browser shows without running anything in it. */
export const shownImages = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']
const imageBytesMax = 20e6

export function fileCard(home, room, { key, at, isMine }) {
  const { transfers } = home
  const act = (name, work, kind = '') => h('button', { class: kind, onclick: () => home.attempt(work) }, name)
  const current = () => room.resources.get(key)
  const who = h('span', { class: 'who' })
  const name = h('strong', { class: 'cut filename' })
  const state = h('span', { class: 'hint' })
  const progress = h('progress', { max: 1, 'aria-label': t('file.progress') })
  const picture = h('a', { class: 'picture', target: '_blank', rel: 'noopener', hidden: true })
  const accept = act(t('accept'), () => transfers.accept(room, current()), 'primary')
  const decline = act(t('decline'), () => transfers.decline(room, current()))
  const save = h('a', { class: 'button primary' }, t('file.save'))
  const pause = act(t('file.pause'), () => transfers.pause(current()))
  const resume = act(t('file.resume'), () => transfers.resume(room, current()), 'primary')
  const again = h('input', { type: 'file', hidden: true, onchange: () => {
    home.attempt(() => transfers.resume(room, current(), again.files[0]))
  } })
  const choose = h('button', { class: 'primary', onclick: () => again.click() }, t('file.choose'))
  const cancel = act(t('cancel'), () => transfers.remove(room, current()))
  const remove = act(t('remove'), askToRemove, 'quiet')
  const element = h('div', { class: `message withfile ${isMine ? 'mine' : ''}`, 'data-first': 'yes' },
    h('p', { class: 'byline' }, who, h('time', { datetime: at, title: dateAndTime(at) }, time(at))),
    h('div', { class: 'file' }, picture,
      h('div', { class: 'stack' }, name, state, progress),
      h('div', { class: 'row' }, accept, save, decline, resume, choose, again, pause, cancel, remove)))

  /** What is only here is asked about; what failed, or went out, is a line of the list. */
  async function askToRemove() {
    const resource = current()
    const answer = isMine || resource.state !== 'complete' || await ask({
      title: t('file.deleteQuestion', { name: resource.name }),
      text: [t('file.deleteText')],
      answers: [{ value: 'delete', name: t('delete'), kind: 'danger' }],
    })
    if (answer) await transfers.remove(room, resource)
  }

  const address = (resource) => home.gateway.address + resource.content

  function showPicture(resource, isHere) {
    const isImage = shownImages.includes(resource.contentType.split(';')[0]) && (resource.size ?? 0) < imageBytesMax
    const source = isImage ? transfers.preview(key) ?? (isHere ? address(resource) : null) : null
    show(picture, source !== null)
    if (!source || picture.dataset.source === source) return
    picture.dataset.source = source
    set(picture, 'href', source)
    picture.replaceChildren(h('img', { src: source, alt: resource.name }))
  }

  return {
    element,
    update({ resource }) {
      const upload = transfers.upload(key)
      const standing = resource.state
      const isUnderWay = standing === 'transferring' || standing === 'uploading'
      const isHere = !isMine && standing === 'complete'
      say(who, isMine ? t('message.youTo', { names: resource.displayName }) : resource.displayName)
      say(name, resource.name)
      set(name, 'title', resource.name)
      say(state, words(resource, upload))
      set(element, 'data-file', standing)
      show(progress, isUnderWay)
      const done = share(resource, upload)
      if (done === null) progress.removeAttribute('value')
      else progress.value = done
      showPicture(resource, isHere)
      show(accept, home.canAct && !isMine && standing === 'offered')
      show(decline, home.canAct && !isMine && standing === 'offered')
      show(save, isHere)
      set(save, 'href', address(resource))
      set(save, 'download', resource.name)
      const isUploading = home.canAct && isMine && standing === 'uploading'
      show(pause, isUploading && upload?.isPaused === false)
      show(resume, isUploading && upload?.isPaused === true)
      show(choose, isUploading && !upload)
      show(cancel, home.canAct && isUnderWay)
      show(remove, home.canAct && !isUnderWay && standing !== 'offered')
    },
  }
}

/** Of an outgoing file the way to the gateway is the first half, and the way from there the second. */
function share(resource, upload) {
  if (resource.state === 'uploading') return resource.size ? (upload?.sent ?? resource.uploaded) / resource.size / 2 : null
  if (!resource.size) return null
  const done = resource.bytes / resource.size
  return resource.direction === 'outgoing' ? 0.5 + done / 2 : done
}

function words(resource, upload) {
  const whole = resource.size === undefined ? '' : size(resource.size)
  const isMine = resource.direction === 'outgoing'
  const state = (key) => joined(whole, t(`file.${key}`))
  switch (resource.state) {
    case 'uploading':
      if (!upload) return t('file.abandoned', { size: sizeOf(resource.uploaded ?? 0, resource.size) })
      return t(upload.isPaused ? 'file.paused' : 'file.uploading', { size: sizeOf(upload.sent, resource.size) })
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
