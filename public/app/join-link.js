// The link by which another device joins: an address of the gateway, and behind `#`, which no server sees, a code and what its
// guest comes for.

const codeLength = 8
const isOwn = (url) => /^https?:\/\/(localhost|[^/:]+\.localhost|127\.|\[::1\])/.test(url)
const isPlain = (url) => url.startsWith('http:')

/** As codes are shown: in capitals, with a dash in the middle. */
export function asCode(text) {
  const letters = text.toUpperCase().replace(/[^A-Z0-9]/g, '').slice(0, codeLength)
  return letters.length > codeLength / 2 ? `${letters.slice(0, 4)}-${letters.slice(4)}` : letters
}

const guestTypes = 'room-'

/** The service type by which guests find a session. */
export const guestType = (session) => `${guestTypes}${session.slice(0, 8)}`

/** Whether a session is open to guests, and not to everybody. */
export const isForGuests = (session) => Boolean(session.adhoc?.startsWith(guestTypes))

/**
 * The `code` behind an address, and what its `guest` comes for: a photo wall, by its service type and peer, or a session, by its
 * service type; null if there is no code.
 */
export function readLink(hash) {
  const code = /^#code=([A-Za-z0-9-]{1,16})(&|$)/.exec(hash)?.[1]
  if (code === undefined) return null
  const [, type, peer] = /&wall=(wall-[a-z0-9]{1,10})\.([a-z2-7]{26})$/.exec(hash) ?? []
  const [, room] = /&room=([a-z0-9-]{1,15})$/.exec(hash) ?? []
  return { code: asCode(code), guest: type ? { type, peer } : room ? { type: room } : null }
}

/** The fragment that `readLink` reads; empty without a code. */
export function behind({ code, guest } = {}) {
  if (!code) return ''
  if (!guest) return `#code=${code}`
  return `#code=${code}&${guest.peer ? `wall=${guest.type}.${guest.peer}` : `room=${guest.type}`}`
}

/**
 * The address for another device, of those that the gateway has: not the one that means this machine itself. With a role that needs
 * an encrypted connection it is HTTPS. With another one it is HTTP, where the page says what the browser will say of the
 * gateway's certificate, and leads to HTTPS; a proxy before the gateway stays as it is.
 */
export function addressFor(role, here, urls) {
  const others = urls.filter((url) => !isOwn(url))
  const [plain, safe] = [others.find(isPlain), others.find((url) => !isPlain(url))]
  const needsSafe = role === 'operator' || role === 'admin'
  if (isOwn(here)) return (needsSafe ? safe : plain ?? safe) ?? here
  const isGatewayItself = plain && new URL(plain).port === new URL(here).port
  return needsSafe || !isGatewayItself ? here : here.replace(/^https:/, 'http:')
}

export const joinLink = (home, { role, ...what }) =>
  `${addressFor(role, home.gateway.address, home.about.urls ?? []).replace(/\/$/, '')}/${behind(what)}`
