// Sends a line a second over a stream to the first who is connected, and shows what comes by the streams of others.
import { Vicinity } from 'vicinity-client'

const gateway = new Vicinity('http://localhost:7777')
await gateway.pair('ABCD-EFGH', { name: 'stream example' })
const peer = await gateway.peer({ name: 'Example' })
const session = await peer.join('lines')

session.on('stream', async (stream) => {
  const lines = stream.readable.pipeThrough(new TextDecoderStream()).getReader()
  for (let line = await lines.read(); !line.done; line = await lines.read()) {
    console.log(`${stream.displayName}: ${line.value.trim()}`)
  }
})

const member = await session.whenConnected()
const { writable } = await session.openStream('clock', member)
const writer = writable.getWriter()
for (let count = 1; count <= 3; count += 1) {
  await new Promise((resolve) => setTimeout(resolve, 1000))
  await writer.write(`${count} s\n`)
}
await writer.close()
