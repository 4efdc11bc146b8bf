// Lets others find it, accepts every invitation, and answers each message.
import { Vicinity } from 'vicinity-client'

const gateway = new Vicinity('http://localhost:7777')
await gateway.pair('ABCD-EFGH', { name: 'answer example' })
const peer = await gateway.peer({ name: 'Echo' })
await peer.advertise('echo', { mood: 'sunny' })
console.log('Waiting for an invitation')

for await (const invitation of peer.invitations()) {
  console.log(`${invitation.displayName} asks: ${invitation.context}`)
  const session = await invitation.accept()
  session.on('message', (message) => {
    session.send({ youSaid: message.text }, { to: message.from })
  })
}
