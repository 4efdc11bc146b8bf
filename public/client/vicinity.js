// The JavaScript client of a Vicinity gateway: peers and sessions, and REST, live collections and uploads below them.
//
//     import { Vicinity } from 'vicinity-client'
//
//     const gateway = new Vicinity('http://127.0.0.1:7777')
//     await gateway.pair('ABCD-EFGH', { name: 'stage lights' })
//     const peer = await gateway.peer({ name: 'Lights' })
//     const session = await peer.join('stage')
//     session.on('message', (message) => console.log(`${message.displayName}: ${message.text}`))
//
// It runs in browsers and, as an ES module, in Node from version 18 on. Node before version 22 has no WebSocket: pass
// one, as the package `ws` has it, to the constructor: `new Vicinity(address, { WebSocket })`. REST works without it.
// Its own package is the folder of this file; `/docs/js` of a gateway says how to install it.

export { Collection } from './channel.js'
export { SessionClock } from './clock.js'
export { Advertiser, Browser } from './discovery.js'
export { Emitter } from './emitter.js'
export { Vicinity } from './gateway.js'
export { newID } from './id.js'
export { Invitation } from './invitation.js'
export { Message } from './message.js'
export { Outbox } from './outbox.js'
export { Peer } from './peer.js'
export { Problem } from './problem.js'
export { Resource } from './resource.js'
export { Session } from './session.js'
export { indexedDBStorage, memoryStorage } from './storage.js'
export { Stream } from './stream.js'
