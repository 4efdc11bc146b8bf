// The code by which guests come in: one for many, as members with few scopes, whose tokens end when it ends.

import { joinLink } from './join-link.js'

export const guestsMax = 200

/** Makes the code, and the link that leads its guests to what they come for. */
export async function makeGuestCode(home, { guest, scopes, label, seconds, uses = guestsMax }) {
  const { startedAt } = home.about
  const { id, code, expiresAt } = await home.gateway.post('/v1/pairing-codes', { role: 'member', scopes, seconds, uses, label })
  return { code: id, until: expiresAt, link: joinLink(home, { code, role: 'member', guest }), startedAt }
}
