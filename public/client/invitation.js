import { emit, Emitter, finish } from './emitter.js'
import { fromBase64, toBase64 } from './id.js'
import { Problem, problem } from './problem.js'
import { sessionOf } from './session.js'

/** An invitation that came. It ends by an answer, in time or when the other side takes it back. */
export class Invitation extends Emitter {
  #gateway

  constructor(gateway, item) {
    super()
    this.#gateway = gateway
    Object.assign(this, item)
  }

  get path() { return `/v1/invitations/${this.id}` }
  /** The inviter's context, as bytes. It comes from somebody else. */
  get contextBytes() { return this.encoding ? fromBase64(this.context) : new TextEncoder().encode(this.context) }

  /** Joins the inviter in a new session, or in one that is given; fulfilled once the two are connected. */
  async accept({ session, signal } = {}) {
    const item = await this.#gateway.patch(this.path, { state: 'accepted', ...(session && { session: session.id }) })
    const joined = session ?? sessionOf(this.#gateway, { id: item.session, peer: this.peer }, { isNew: true })
    await joined.whenConnected(this.from, { signal })
    return joined
  }

  decline() { return this.#gateway.patch(this.path, { state: 'declined' }) }
}

/** Takes what the list says of an invitation; null if it is not in there any more. */
export function updateInvitation(invitation, item) {
  Object.assign(invitation, item ?? { state: invitation.state === 'pending' ? 'cancelled' : invitation.state })
  if (invitation.state !== 'pending') finish(invitation)
}

/** Tells of the invitations that come for a peer. */
export class InvitationInbox {
  #known = new Map()

  constructor(gateway, peer) {
    this.collection = gateway.follow('/v1/invitations')
    this.collection.on('put', ({ item }) => {
      if (item.direction !== 'incoming' || item.peer !== peer.id) return
      const known = this.#known.get(item.id)
      if (known) return updateInvitation(known, item)
      if (item.state !== 'pending') return
      const invitation = new Invitation(gateway, item)
      this.#known.set(item.id, invitation)
      emit(peer, 'invitation', invitation)
    })
    this.collection.on('del', ({ item }) => {
      const known = this.#known.get(item.id)
      if (known) updateInvitation(known, null)
      this.#known.delete(item.id)
    })
  }

  close() { this.collection.close() }
}

/** Invites a peer into a session; fulfilled once it is connected, and rejected if it is not. */
export async function invite(gateway, session, { to, name, serviceType, context, timeout, signal }) {
  const bytes = context !== undefined && typeof context !== 'string'
    ? { context: toBase64(new Uint8Array(context)), encoding: 'base64' } : { context }
  const invitations = gateway.follow('/v1/invitations')
  let made
  try {
    signal?.throwIfAborted()
    // Not given up in the middle: an invitation that is sent unanswered could not be cancelled.
    made = await gateway.post('/v1/invitations', { session: session.id, to, serviceType, ...bytes, timeout })
    const answer = await answered(invitations, made.id, signal)
    if (answer.state !== 'accepted') throw refusal(answer, name)
    await session.whenConnected(to, { signal })
  } catch (error) {
    if (signal?.aborted && made) await gateway.patch(`/v1/invitations/${made.id}`, { state: 'cancelled' }).catch(() => {})
    throw error
  } finally {
    invitations.close()
  }
}

function answered(invitations, id, signal) {
  return new Promise((resolve, reject) => {
    const look = () => {
      const item = invitations.get(id)
      if (item && item.state !== 'pending') resolve(item)
    }
    invitations.on('put', look)
    invitations.on('del', ({ item }) => item.id === id && resolve({ ...item, state: 'cancelled' }))
    invitations.on('end', (error) => reject(error ?? Problem.offline()))
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    if (signal?.aborted) reject(signal.reason)
    look()
  })
}

function refusal({ state, problem: cause }, name = 'The peer') {
  if (state === 'failed' && cause) return new Problem(cause)
  const told = {
    declined: `${name} has declined.`, timedOut: `${name} did not answer in time.`,
    cancelled: 'The invitation was cancelled.',
  }[state] ?? `${name} could not be reached.`
  return problem(state === 'failed' ? 'unknown' : state, 'Not connected', told)
}
