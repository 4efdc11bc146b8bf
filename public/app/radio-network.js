// The network of a radio: how a phone joins it and opens this page, who is on it, and its end.

import { copyButton } from './copy.js'
import { h, say, show, whenChanged } from './dom.js'
import { rows } from './parts.js'
import { qrImage } from './qr.js'
import { t } from './texts.js'
import { joined } from './words.js'

export function radioNetwork(home, stop) {
  let network = null
  const title = h('h3', { tabindex: -1 })
  const note = h('p', { class: 'warning' })
  const join = h('p', { class: 'hint' })
  const name = fact('name', () => network.name)
  const password = fact('password', () => network.password)
  const link = h('a')
  const url = h('div', { class: 'stack' }, h('p', { class: 'hint' }, t('network.open')), link,
    h('div', { class: 'row' }, copyButton(t('network.copyURL'), () => network.url)))
  const picture = h('div')
  const count = h('strong', { role: 'status' })
  const stations = rows(({ name: called, address, hardwareAddress }) => {
    const [first, ...others] = [called, address, hardwareAddress].filter(Boolean)
    return [first, joined(...others)]
  })
  const end = h('button', { onclick: stop }, t('network.stop'))
  const element = h('div', { class: 'stack network', hidden: true },
    h('div', { class: 'newcode' },
      h('div', { class: 'stack grow' }, title, note, join, name.element, password.element, url), picture),
    count, stations.element, h('div', { class: 'row end' }, end))

  const drawCode = whenChanged(async (code) => {
    picture.replaceChildren()
    if (!code) return
    const image = await home.attempt(() => qrImage(home.gateway, code, t('network.qr', { name: network?.name })))
    if (image && network?.code === code) picture.replaceChildren(image)
  })

  return {
    element,
    focus: () => title.focus(),
    draw(now, isBusy) {
      network = now ?? null
      show(element, Boolean(network))
      drawCode(network?.code)
      if (!network) return
      say(title, t(`networkTitle.${network.kind}`))
      name.draw()
      password.draw()
      say(join, t(network.kind === 'mesh' ? 'network.joinMesh' : network.password ? 'network.joinGroup' : 'network.joinOther'))
      const warning = warningOf(network)
      say(note, warning ? t(warning) : '')
      show(note, Boolean(warning))
      show(url, Boolean(network.url))
      if (network.url) link.textContent = link.href = network.url
      say(count, t('network.members', { count: network.members }))
      stations.draw(network.stations.map((station) => ({ id: station.hardwareAddress, ...station })))
      end.disabled = isBusy
    },
  }
}

function warningOf({ kind, isAbandoned, addressing, url }) {
  if (isAbandoned) return 'network.abandoned'
  if (kind === 'mesh' || url) return null
  return addressing === 'dhcp' ? 'network.notListening' : 'network.noAddresses'
}

/** A value to read and to copy. */
function fact(key, value) {
  const text = h('output', { class: 'code' })
  const element = h('div', { class: 'row wrap' }, h('div', { class: 'grow stack' }, h('span', { class: 'hint' }, t(`network.${key}`)), text),
    copyButton(t(`networkCopy.${key}`), value))
  return {
    element,
    draw() {
      say(text, value() ?? '')
      show(element, Boolean(value()))
    },
  }
}
