// A Wi-Fi radio: its state, what it can make, and its network.

import { h, say, set, show } from './dom.js'
import { radioNetwork } from './radio-network.js'
import { radioTrouble } from './radio-trouble.js'
import { ask } from './question.js'
import { format, t } from './texts.js'
import { joined, worded } from './words.js'

const kinds = ['group', 'mesh']
/** The rules of refusals that hold only as long as nobody insists. */
const forcible = ['radioConnected', 'radioManaged']
const passwordSizes = { minlength: 8, maxlength: 63 }
/** wpa_supplicant puts a text in quotes. */
const withoutQuotes = '[^"]*'

/** `changed` is called once the radio has another network. */
export function radioCard(home, { id }, changed) {
  let radio = { id }
  let isBusy = false
  const path = `/v1/radios/${encodeURIComponent(id)}/network`
  const state = h('span', { class: 'hint' })
  const status = h('p', { class: 'hint', role: 'status', hidden: true })
  const trouble = radioTrouble(id)
  const [nameID, formID] = [`radio-${id}`, `mesh-${id}`]
  const start = h('button', { 'aria-describedby': nameID, onclick: () => begin({ kind: 'group' }) }, t('radios.startGroup'))
  const join = h('button', { 'aria-expanded': 'false', 'aria-controls': formID, 'aria-describedby': nameID, onclick: () => open(form.hidden) }, t('radios.joinMesh'))
  const buttons = { group: start, mesh: join }
  const name = h('input', { id: `${formID}-name`, required: true, maxlength: 32, pattern: withoutQuotes, autocomplete: 'off', value: 'vicinity' })
  const password = h('input', { id: `${formID}-password`, ...passwordSizes, pattern: withoutQuotes, autocomplete: 'off', placeholder: t('radios.optional') })
  const field = (text, input) => h('div', { class: 'stack' }, h('label', { for: input.id }, text), input)
  const form = h('form', { id: formID, class: 'stack mesh', hidden: true, onsubmit: (event) => {
    event.preventDefault()
    if (!isBusy) begin({ kind: 'mesh', name: name.value, ...(password.value && { password: password.value }) })
  } },
  h('p', { class: 'hint' }, t('radios.meshHint')),
  h('div', { class: 'settings' }, field(t('radios.meshName'), name), field(t('radios.meshPassword'), password)),
  h('div', { class: 'row end' }, h('button', { class: 'primary' }, t('radios.joinMeshNow'))))
  const network = radioNetwork(home, stop)
  const element = h('li', { class: 'card stack' },
    h('div', { class: 'row wrap' }, h('div', { class: 'grow stack' }, h('strong', { id: nameID }, id), state), start, join),
    trouble.element, form, status, network.element)

  function open(isOpen) {
    show(form, isOpen)
    set(join, 'aria-expanded', String(isOpen))
    if (isOpen) name.focus()
  }

  /** It asks before a connection in use may drop; the gateway refuses where the page did not know of one. */
  async function begin(plan, rules = forcible.filter((rule) => isObstacle(rule, radio))) {
    const force = rules.length > 0
    if (force && !(await mayForce(id, rules))) return
    const refusal = await change(t('radios.starting'), () =>
      home.gateway.put(path, { ...plan, ...(force && { force }) }, { attempts: 1 }))
    if (!refusal) {
      open(false)
      network.focus()
    } else if (!force && forcible.includes(refusal.rule)) {
      trouble.draw(null)
      await begin(plan, [refusal.rule])
    }
  }

  async function stop() {
    if (await mayStop(radio.network)) await change(t('radios.stopping'), () => home.gateway.delete(path))
  }

  /** The problem, where it was refused. */
  async function change(text, work) {
    isBusy = true
    trouble.draw(null)
    say(status, text)
    draw()
    let problem = null
    await work().catch((refusal) => { problem = refusal })
    await changed()
    isBusy = false
    trouble.draw(problem)
    draw()
    return problem
  }

  function draw() {
    say(state, words(radio))
    show(status, isBusy)
    for (const kind of kinds) {
      // Radios that nobody has asked for it yet may be able to.
      show(buttons[kind], canStart(radio) && (radio.kinds ?? kinds).includes(kind))
      buttons[kind].disabled = isBusy
    }
    if (!canStart(radio)) open(false)
    network.draw(radio.network, isBusy)
  }

  return {
    element,
    update(now) {
      const isOther = fingerprint(now) !== fingerprint(radio)
      radio = now
      // A problem is over once the radio is another way.
      if (isOther && !isBusy) trouble.draw(radio.state === 'blocked' && blocked)
      draw()
    },
  }
}

const blocked = { kind: 'conflict', rule: 'rfkill' }
const fingerprint = ({ state, isManaged, network }) => `${state} ${isManaged} ${network?.name}`
const canStart = ({ state, isForbidden }) => (state === 'idle' || state === 'connected') && !isForbidden
const isObstacle = (rule, { state, isManaged }) => (rule === 'radioManaged' ? isManaged : state === 'connected')

function words({ state, kinds: able, isManaged, network }) {
  const names = able?.map((kind) => worded('radioKind', kind))
  return joined(
    network ? worded('radioNetwork', network.kind) : worded('radioState', state),
    !network && isManaged && t('radios.managed'),
    !network && state !== 'blocked' && names && (names.length > 0 ? t('radios.kinds', { kinds: format('list').format(names) }) : t('radios.noKinds')))
}

async function mayForce(radio, rules) {
  const answer = await ask({
    title: t('forcing.question', { radio }), text: [...rules.map((rule) => t(`forcing.${rule}`, { radio })), t('forcing.page', { radio })],
    answers: [{ value: 'force', name: t('forcing.yes'), kind: 'danger' }],
  })
  return answer !== null
}

async function mayStop({ name, members }) {
  const answer = await ask({
    title: t('stopping.question', { name }), text: [members > 0 && t('stopping.members', { count: members }), t('stopping.text')],
    answers: [{ value: 'stop', name: t('stopping.yes'), kind: 'danger' }],
  })
  return answer !== null
}
