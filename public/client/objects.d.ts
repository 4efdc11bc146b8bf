// The objects of the gateway, as in its contract (/docs).

export type Direction = 'incoming' | 'outgoing'
export type Encoding = 'text' | 'base64'
export type DiscoveryInfo = Record<string, string>

export interface ProblemObject {
  type: string
  title?: string
  status?: number
  detail?: string
  field?: string
  rule?: string
  reason?: string
  limit?: number
  retryAfter?: number
}

export interface PairedClient {
  client: string
  name: string
  role: 'viewer' | 'member' | 'operator' | 'admin'
  scopes: string[]
  expiresAt?: string
  /** For programs: keep it, since it is not told again. */
  token?: string
  /** For pages, beside the cookie. */
  csrf?: string
}

export interface FoundPeer {
  id: string
  peer: string
  displayName: string
  discoveryInfo: DiscoveryInfo
  /** Whether its key is known at the gateway. */
  verified: boolean
  awaySince?: string
}

export interface Member {
  /** Its endpoint in the session. */
  id: string
  peer: string
  displayName: string
  state: 'connecting' | 'connected' | 'notConnected'
  /** Whether its link is lost and may still come back. */
  suspended: boolean
  verified: boolean
  carriedBy: string
  /** Such as `lan`; undefined for a peer of the same gateway. */
  medium?: string
  encryption?: 'optional' | 'required' | 'none'
  inviter?: string
  reason?: string
  detail?: string
  awaySince?: string
}

export interface Delivery {
  pending: number
  delivered: number
  undelivered: number
  unknown: number
  recipients?: {
    member: string
    peer: string
    displayName: string
    state: 'pending' | 'delivered' | 'undelivered' | 'unknown'
  }[]
}

export interface MessageObject {
  id: string
  from: string
  displayName: string
  to?: string[]
  mode: 'reliable' | 'unreliable'
  at: string
  size: number
  contentType: string
  /** The text, or base64 of the bytes, which is made when it is read if these came in a binary frame: `Message` has the `bytes`. */
  body: string
  encoding?: Encoding
  /** The delivery status of a message that was sent from here. */
  delivery?: Delivery
  damaged?: boolean
}

export interface StreamObject {
  id: string
  name: string
  direction: Direction
  from?: string
  to?: string
  displayName: string
  state: 'open' | 'closed' | 'failed'
  createdAt: string
  bytes?: number
  reason?: string
}

export type ResourceState =
  'uploading' | 'offered' | 'transferring' | 'complete' | 'declined' | 'cancelled' | 'failed' | 'damaged'

export interface ResourceObject {
  id: string
  name: string
  direction: Direction
  from?: string
  to?: string
  displayName: string
  contentType: string
  state: ResourceState
  size?: number
  /** Bytes that are at the gateway. */
  uploaded?: number
  /** Bytes that have been transferred between the two ends. */
  bytes: number
  bytesPerSecond?: number
  timeLeft?: number
  sha256?: string
  problem?: ProblemObject
  content: string
  /** The same for resources that were sent to several members together, with one content. */
  group?: string
  /** In the answer to a request for several members: all of them, this one first. */
  resources?: ResourceObject[]
  createdAt: string
}

export type InvitationState = 'pending' | 'accepted' | 'declined' | 'timedOut' | 'cancelled' | 'failed'

export interface InvitationObject {
  id: string
  direction: Direction
  /** The peer of this client. */
  peer: string
  from?: string
  to?: string
  displayName?: string
  serviceType: string
  context: string
  encoding?: Encoding
  session?: string
  state: InvitationState
  problem?: ProblemObject
  createdAt: string
  expiresAt?: string
}

export interface AdvertiserObject {
  id: string
  peer: string
  serviceType: string
  discoveryInfo: DiscoveryInfo
  invitations: 'ask' | 'accept' | 'adhoc'
  until: 'stopped' | 'connected' | 'full'
  state: 'starting' | 'advertising' | 'failed'
  session?: string
  problem?: ProblemObject
}

export interface SessionOptions {
  encryption?: 'optional' | 'required' | 'none'
  trust?: 'any' | 'ask' | 'firstUse' | 'anchors'
  maxPeers?: number
  /** Whether resources that come wait for an answer. */
  resources?: 'ask' | 'accept'
  identity?: string
  history?: { keep?: 'durable' | 'memory' | 'none', count?: number, bytes?: number, age?: number }
}
