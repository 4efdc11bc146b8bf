// The devices and programs that hold a token: what they may, when they were last seen, what waits for them.

import { h } from './dom.js'
import { rows, section } from './parts.js'
import { ask } from './question.js'
import { t } from './texts.js'
import { date, joined, size, timeOrDate, worded } from './words.js'

/** How often what changes by the second is asked for, and of how many clients at a time: all have their turns. */
const queuesInterval = 10_000
const askedMax = 50

/** The clients that are asked next, after the one that was asked last. */
export function nextOf(clients, last, max = askedMax) {
  const start = clients.findIndex(({ id }) => id === last) + 1
  return [...clients.slice(start), ...clients.slice(0, start)].slice(0, max)
}

const scopeCount = 9

export function clients(home) {
  /** Last seen and queues, by client. */
  const queues = new Map()
  let asked = 0
  let last

  const devices = rows(words, (client) => (client.id === home.client.id ? null : h('button', {
    class: 'quiet', onclick: () => home.attempt(() => revoke(client)),
  }, t('revoke'))))
  const element = section(t('clients.title'), devices.element)

  function words(client) {
    const own = queues.get(client.id)
    const waiting = own?.sockets?.reduce((sum, socket) => sum + socket.queuedBytes, 0) ?? 0
    return [
      client.id === home.client.id ? t('clients.this', { name: client.name }) : client.name,
      joined(
        worded('role', client.role),
        client.scopes?.length < scopeCount && t('clients.scopes', { scopes: client.scopes.join(', ') }),
        t('clients.since', { time: date(client.createdAt) }),
        own?.lastSeenAt && t('clients.seen', { time: timeOrDate(own.lastSeenAt) }),
        client.expiresAt && t('clients.until', { time: date(client.expiresAt) }),
        own && t('clients.queued', { size: size(waiting) })),
    ]
  }

  async function revoke({ id, name }) {
    const answer = await ask({
      title: t('revoking.question', { name }), text: [t('revoking.text', { name }), t('cannotUndo')],
      answers: [{ value: 'revoke', name: t('revoking.yes'), kind: 'danger' }],
    })
    if (answer) await home.gateway.delete(`/v1/clients/${id}`)
  }

  async function askQueues() {
    for (const id of queues.keys()) if (!home.clients.get(id)) queues.delete(id)
    for (const { id } of nextOf(home.clients.items, last)) {
      last = id
      const answer = await home.gateway.get(`/v1/clients/${id}/queues`).catch(() => null)
      if (answer) queues.set(id, answer)
      else queues.delete(id)
    }
    home.changed()
  }

  return {
    element,
    update() {
      devices.draw(home.clients.items)
      if (home.clients.items.length === 0 || Date.now() - asked < queuesInterval) return
      asked = Date.now()
      askQueues()
    },
  }
}
