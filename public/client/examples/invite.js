// Invites the first who is found, asks something, and waits for the answer.
import { Problem, Vicinity } from 'vicinity-client'

const gateway = new Vicinity('http://localhost:7777')
await gateway.pair('ABCD-EFGH', { name: 'invite example' })
const peer = await gateway.peer({ name: 'Caller' })

for await (const found of peer.browse('echo')) {
  try {
    const session = await peer.invite(found, { context: 'May I join you?', timeout: 20 })
    const answers = session.events('message')
    await session.send('Anybody there?', { to: found })
    const { value: answer } = await answers.next()
    if (answer) console.log(`${answer.displayName} answered`, answer.json())
    await session.leave()
    break
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    console.log(error.message)
  }
}
gateway.close()
