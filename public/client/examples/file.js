// Sends a file to the first who is connected, and takes the files of others.
import { Vicinity } from 'vicinity-client'

const gateway = new Vicinity('http://localhost:7777')
await gateway.pair('ABCD-EFGH', { name: 'file example' })
const peer = await gateway.peer({ name: 'Example' })
const session = await peer.join('files')

session.on('resource', async (resource) => {
  await resource.accept()
  await resource.done
  console.log(`${resource.displayName} sent ${resource.name}: ${await (await resource.blob()).text()}`)
})

const member = await session.whenConnected()
const content = new Blob(['Three words only.'], { type: 'text/plain' })
const sent = await session.sendResource(content, { to: member, name: 'words.txt' })
sent.on('progress', () => console.log(`${Math.round(sent.fraction * 100)} %`))
await sent.done
console.log('It is there.')
