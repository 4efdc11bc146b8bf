// A program that uses all of the client. The compiler checks it against the types, wrong uses included.

import {
  Collection, Found, indexedDBStorage, Member, memoryStorage, MessageObject, newID, Problem, Resource, Session,
  SessionClock, Vicinity,
} from 'vicinity-client'

const gateway = new Vicinity('http://localhost:7777', { token: 'vct_1', WebSocket, storage: memoryStorage() })
new Vicinity(undefined, { storage: indexedDBStorage('mine') })
const stop: () => void = gateway.on('state', (state) => state === 'online')
// @ts-expect-error: there is no such state.
gateway.on('state', (state) => state === 'sleeping')
// @ts-expect-error: there is no such event.
gateway.on('message', () => {})
stop()

const peer = await gateway.peer({ name: 'Anna', lifetime: 'connection' })
// @ts-expect-error: a peer has a name.
gateway.peer({})
const advertiser = await peer.advertise('chat', { mood: 'sunny' }, { invitations: 'ask', until: 'full' })
await advertiser.update({ mood: 'cloudy' })
// @ts-expect-error: discovery info is texts.
peer.advertise('chat', { count: 3 })
await advertiser.stop()

const browser = peer.browse('chat')
browser.on('lost', (found: Found) => console.log(found.displayName, found.discoveryInfo.mood))
for await (const found of browser) {
  const session = await peer.invite(found, { context: new Uint8Array(3), timeout: 10, signal: new AbortController().signal })
  await use(session)
}
for await (const invitation of peer.invitations({ limit: 5 })) {
  const { from, contextBytes } = invitation
  console.log(from.length, contextBytes.byteLength)
  await (await invitation.accept()).leave()
  await invitation.decline()
}

async function use(session: Session) {
  session.on('gap', ({ type, missed }) => console.log(type === 'message', missed ?? 'some'))
  session.on('member', (member: Member) => session.remove(member, { ban: true }))
  // @ts-expect-error: a member has no such state.
  session.on('member', (member) => member.state === 'gone')
  session.on('stream', async ({ readable }) => {
    for (const reader = readable.getReader(); ;) {
      const { done, value } = await reader.read()
      if (done) break
      console.log(value.byteLength)
    }
  })
  session.on('resource', async (resource: Resource) => {
    resource.on('progress', ({ fraction }) => console.log(fraction.toFixed()))
    await resource.accept()
    const content: Blob = await (await resource.done).blob()
    await content.stream().pipeTo(new WritableStream())
  })
  const message = await session.send({ answer: 42 }, { to: [await session.whenConnected(peer)], reliable: true, id: newID() })
  console.log(message.delivery?.delivered, message.json(), message.text.length)
  for await (const { text, bytes } of session.events('message')) console.log(text, bytes.length)
  const { writable } = await session.openStream('voice', session.connected[0])
  const writer = writable.getWriter()
  await writer.write('text')
  await writer.write(new Uint8Array(2))
  const sent = await session.sendResource(new Blob(['x']), { to: 'o5wc677ydd4mdmqpxhdagptaha', name: 'x.txt' })
  sent.pause()
  sent.resume()
  await sent.cancel()
  const copies = await session.sendResource(new Blob(['x']), { to: session.connected, name: 'x.txt' })
  const all = await session.sendResource(new Blob(['x']), { name: 'x.txt' })
  console.log(copies[0]?.group, all.length)
  // @ts-expect-error: a receiver has a name.
  session.sendResource(new Blob([]), { to: 5 })
  const clock: SessionClock = await session.clock()
  console.log(clock.time.toFixed(), clock.bound < 5, clock.until(clock.time + 100))
  clock.close()
  const messages: Collection<MessageObject> = session.messages
  console.log(messages.items[0]?.displayName, messages.isComplete, session.pending[0]?.to, session.position?.length)
}

gateway.outbox.on('refused', ({ entry, problem }) => console.log(entry.id, problem.kind))
for await (const item of gateway.list<Member>('/v1/sessions/s/members')) console.log(item.verified)
gateway.follow<Member>('/v1/sessions/s/members', { limit: 10 }).on('put', ({ item, before }) => console.log(item.id, before?.id))
// What a path answers is known by the contract.
const { items: [link] } = await gateway.get('/v1/links')
const { medium, roundTripMilliseconds = 0 } = await gateway.get(`/v1/browsers/b/found/${peer.id}/reach`)
console.log(link?.standby, medium.length, roundTripMilliseconds.toFixed())
gateway.follow('/v1/events').on('put', ({ item }) => console.log(item.event, item.about))
gateway.follow(`/v1/sessions/${newID()}/comparisons`).on('put', ({ item: { state, code } }) => state === 'pending' && code?.length)
gateway.follow(`/v1/sessions/${newID()}/certificates`).on('put', ({ item }) => item.chain[0]?.subject)
for await (const { uses, expiresAt } of gateway.list('/v1/pairing-codes')) console.log(uses + 1, expiresAt)
// @ts-expect-error: a link has no such field.
console.log(link?.speed)
try {
  await gateway.get('/v1/gateway')
} catch (error) {
  if (error instanceof Problem) console.log(error.kind, error.status + 1, error.rule)
}
