// A program that uses the client that openapi-generator generates for TypeScript.
//
// It finds whoever is advertised under a service type, invites them, says something, waits for an answer, and exchanges files.

import {
  Configuration, DiscoveryApi, InvitationsApi, Member, MessagesApi, PairingApi, PeersApi, ResourcesApi, SessionsApi,
} from './vicinity_gateway_client'

declare const process: { argv: string[]; exit(code: number): never }
declare function require(name: string): any
const { readFileSync, writeFileSync } = require('fs')

const waitSeconds = 30

interface Page<Item> { position: string; items?: Item[]; changes?: { put?: Item }[] }

/** The first item that is wanted: from the list as it is, and from then on from its changes. */
async function follow<Item>(
  list: (options: { since?: string; wait?: number }) => Promise<Page<Item>>, isWanted: (item: Item) => boolean,
): Promise<Item> {
  for (let page = await list({}); ; page = await list({ since: page.position, wait: waitSeconds })) {
    const items = page.items ?? (page.changes ?? []).flatMap((change) => change.put ? [change.put] : [])
    const found = items.find(isWanted)
    if (found) return found
  }
}

async function main(url: string, code: string, serviceType: string, upload: string, download: string) {
  const stranger = new PairingApi(new Configuration({ basePath: url }))
  const pairing = await stranger.createPairing({ pairingRequest: { code, name: 'generated' } })
  const client = new Configuration({ basePath: url, accessToken: pairing.token })
  const peer = await new PeersApi(client).createPeer({ peerRequest: { displayName: 'TypeScript' } })
  console.log(`paired as ${pairing.role}, and made the peer ${peer.id}`)

  const sessions = new SessionsApi(client)
  const session = (await sessions.createSession({ sessionRequest: { peer: peer.id, resources: 'accept' } })).id
  const discovery = new DiscoveryApi(client)
  const browser = (await discovery.createBrowser({ browserRequest: { peer: peer.id, serviceType } })).id
  const found = await follow((options) => discovery.listFoundPeers({ browser, ...options }), () => true)
  const invitations = new InvitationsApi(client)
  await invitations.createInvitation({ invitationRequest: { session, to: found.id, serviceType, context: 'Shall we?' } })
  const other = await follow<Member>(
    (options) => sessions.listMembers({ session, ...options }), (member) => member.state === 'connected')
  console.log(`found, invited and met ${other.displayName}`)

  const messages = new MessagesApi(client)
  const message = await messages.sendMessage({ session, body: 'Grüße from TypeScript' })
  const listMessages = (options: object) => messages.listMessages({ session, ...options })
  await follow(listMessages, (item) => item.id === message.id && item.delivery?.delivered === 1)
  console.log(`sent a message, ${message.body}`)
  const answer = await follow(listMessages, (item) => item.from === other.peer)
  const bodies = (await listMessages({})).items!.map((item) => item.body)
  console.log(`was told ${answer.body}; the list of messages is ${JSON.stringify(bodies)}`)

  const resources = new ResourcesApi(client)
  const listResources = (options: object) => resources.listResources({ session, ...options })
  const bytes = readFileSync(upload)
  const sent = await resources.createResource(
    { session, resourceRequest: { name: 'upload.bin', to: other.peer, size: bytes.length } })
  await resources.uploadResource({ session, resource: sent.id, body: new Blob([bytes]) })
  await follow(listResources, (item) => item.id === sent.id && item.state === 'complete')
  console.log(`uploaded ${bytes.length} bytes, which have arrived`)

  const come = await follow(listResources, (item) => item.from === other.peer && item.state === 'complete')
  const content = await resources.downloadResource({ session, resource: come.id })
  if (!content) throw new Error('the download has no content')
  writeFileSync(download, new Uint8Array(await content.arrayBuffer()))
  console.log(`downloaded ${content.size} bytes, ${come.name}`)
}

const [url, code, serviceType, upload, download] = process.argv.slice(2)
main(url, code, serviceType, upload, download).catch(async (error) => {
  console.error(error, error.response ? await error.response.text() : '')
  process.exit(1)
})
