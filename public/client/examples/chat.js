// Joins everybody who has joined 'chat', says hello, and shows what others say.
import { Vicinity } from 'vicinity-client'

const gateway = new Vicinity('http://localhost:7777')
await gateway.pair('ABCD-EFGH', { name: 'chat example' })
const peer = await gateway.peer({ name: 'Example' })
const session = await peer.join('chat')

session.on('member', (member) => console.log(`${member.displayName} is ${member.state}`))
session.on('message', (message) => console.log(`${message.displayName}: ${message.text}`))
await session.whenConnected()
await session.send('Hello')
