// Names in place of the ids that events and the audit log have.

import { joined, names } from './words.js'

/** Messages of which the sender is known. */
const messagesMax = 1000

/** The names of all that this page knows, by id: of hosts those of the people on them, and of what is gone those that events told. */
export function knownNames({ about, events, peers, nearby, clients, codes, invitations, advertisers, browsers, sessions, rooms }) {
  const known = new Map()
  const learn = (id, name) => name && known.set(id, name)
  for (const { about: path, displayName, name } of events.items) learn(path.split('/').pop(), displayName ?? name)
  for (const { id, displayName } of [...nearby, ...peers.items, ...invitations.items]) learn(id, displayName)
  for (const { id, name } of clients?.items ?? []) learn(id, name)
  for (const { id, label } of codes?.items ?? []) learn(id, label)
  for (const { id, peer, serviceType } of [...advertisers.items, ...browsers.items]) learn(id, joined(known.get(peer), serviceType))
  for (const { id, peer } of sessions.items) learn(id, known.get(peer))
  const hosts = new Map([[about.host, [about.name]]])
  for (const room of rooms) {
    learn(room.id, names(room.present))
    for (const { id, peer, displayName, carriedBy } of room.members.items) {
      for (const one of [id, peer]) learn(one, displayName)
      if (carriedBy !== about.host) hosts.set(carriedBy, [...hosts.get(carriedBy) ?? [], displayName])
    }
    for (const { id, name } of room.resources.items) learn(id, name)
    for (const list of [room.comparisons, room.certificates]) for (const { id, displayName } of list.items) learn(id, displayName)
    for (const { id, displayName } of room.messages.items.slice(-messagesMax)) learn(id, displayName)
  }
  for (const [id, of] of hosts) learn(id, names([...new Set(of)]))
  return known
}

/** The name of an item by its path, which stands for it where nobody knows the name. */
export const subjectName = (known, path) => known.get(path.split('/').pop()) ?? subject(known, path)

/** The path of an item with names in place of ids. */
export function subject(known, path) {
  const [, , ...parts] = path.split('/')
  const said = []
  for (let place = 0; place < parts.length; place += 2) {
    const id = parts[place + 1]
    said.push(id === undefined ? parts[place] : `${parts[place]} ${known.get(id) ?? id}`)
  }
  return said.join(' › ')
}
