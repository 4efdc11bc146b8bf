// The objects of the gateway, as in its contract (/docs): `docs/generate` makes this file.

/** A position in the changes of a list: opaque, to be sent back unchanged. */
export type Position = string

/** Derived from the public key of a peer: 128 bits in base32. */
export type PeerID = string

/** What is offered or sought: up to 15 lower-case letters, digits and single dashes between them, with at least one letter. */
export type ServiceType = string

export type ProblemKind = 'notConnected' | 'invalidParameter' | 'unsupported' | 'timedOut' | 'cancelled' | 'unavailable' | 'unknown' | 'badRequest' | 'unauthorized' | 'forbidden' | 'notFound' | 'methodNotAllowed' | 'notAcceptable' | 'conflict' | 'gone' | 'preconditionFailed' | 'tooLarge' | 'unsupportedMediaType' | 'rangeNotSatisfiable' | 'misdirected' | 'upgradeRequired' | 'tooMany'

/** Each includes the permissions of the one before it. */
export type Role = 'viewer' | 'member' | 'operator' | 'admin'

/** A part of the gateway: peers with discovery and invitations; sessions with their members; their messages, streams and resources; trust; other clients; events; the Wi-Fi radios of its machine, and its pairing of Bluetooth devices. */
export type Scope = 'peers' | 'sessions' | 'messages' | 'streams' | 'resources' | 'trust' | 'clients' | 'events' | 'radios'

/** The parts of the gateway to which a token is restricted, within its role; by default all. A request outside of them is 403 with the rule `scope`. */
export type Scopes = Scope[]

export type AuditAction = 'paired' | 'revoked' | 'expired' | 'accepted' | 'declined' | 'trusted' | 'distrusted' | 'changed'

/** A client; a rule of one of its advertisers or sessions, which accepts automatically; or somebody on the machine. */
export type AuditActor = 'client' | 'rule' | 'machine'

export type Direction = 'incoming' | 'outgoing'

export type Mode = 'reliable' | 'unreliable'

export type Encoding = 'text' | 'base64'

export type InvitationState = 'pending' | 'accepted' | 'declined' | 'timedOut' | 'cancelled' | 'failed'

export type ConnectionState = 'pending' | 'connected' | 'timedOut' | 'cancelled' | 'failed'

export type BluetoothPairingState = 'pending' | 'accepted' | 'declined' | 'timedOut' | 'cancelled'

export type ComparisonState = 'starting' | 'pending' | 'answered' | 'matched' | 'mismatched' | 'failed'

export type ResourceState = 'uploading' | 'offered' | 'transferring' | 'complete' | 'declined' | 'cancelled' | 'failed' | 'damaged'

/** Short texts that every browser can read: each with its name at most 254 bytes, all of them at most 1024. */
export type DiscoveryInfo = Record<string, string>

/** An error (RFC 9457). */
export interface ProblemObject {
  /** The path of a page about the kind of problem: /problems/ and a ProblemKind. */
  type: string
  title: string
  status: number
  /** What failed, why, and how to fix it. */
  detail: string
  /** The part of the request that is wrong. */
  field?: string
  /** The rule that it breaks. */
  rule?: string
  /** The cause, by its name in the library and on the command line: queueFull if the send queue of a member is full (429), noSpace if the disk is full or a quota is exhausted (507), or the end of something in progress, such as declined or lost. */
  reason?: string
  limit?: number
  /** Seconds after which to retry. */
  retryAfter?: number
}

export interface GatewayPatch {
  /** The name that clients see. The gateway's own peer keeps the one of the option. */
  name?: string | null
  /** The least urgent level of the log. */
  logLevel?: 'error' | 'warning' | 'info' | 'debug' | null
  limits?: {
    peersPerClient?: number | null
    sessionsPerPeer?: number | null
    resourcesPerSession?: number | null
    resourceBytes?: number | null
    resourceBytesPerClient?: number | null
    historyBytesPerClient?: number | null
  }
}

/** For admins. */
export interface GatewaySettings {
  logLevel: 'error' | 'warning' | 'info' | 'debug'
  /** The settings that were changed while it ran. */
  changed: GatewayPatch
}

export interface Gateway {
  name: string
  version: string
  time: string
  /** Its host id, by which other hosts know it. */
  host?: string
  startedAt?: string
  client?: CurrentClient
  settings?: GatewaySettings
  https?: HTTPS
  addresses?: string[]
  /** The URLs of the gateway, those with HTTPS first. */
  urls?: string[]
  discovery?: Discovery
  /** Limits that a client may reach. Those that the operator can set are named like their options. */
  limits?: Record<string, number>
  /** The path below which clients find the gateway, such as `/vicinity`; absent at the root. Paths in bodies and frames are those of this document, without it; `Location`, `Link`, cookies and `urls` have it. */
  basePath?: string
  sockets?: number
}

/** SHA-256 fingerprints by which the gateway is verified. */
export interface HTTPS {
  /** Of its certificate, which is renewed from time to time. */
  fingerprint: string
  /** Of the certificate authority that issued it, which does not change; absent if the operator has set the certificate. */
  authority?: string
}

/** The client that sends the request. */
export interface CurrentClient {
  id: string
  name: string
  role: Role
  scopes: Scopes
  /** Quota use: bytes of its resources, announced ones included; at most `resourceBytesPerClient` of the limits. */
  resourceBytes: number
  /** Quota use: bytes that its sessions have reserved for histories on the disk; at most `historyBytesPerClient` of the limits. */
  historyBytes: number
}

export interface Reach {
  /** The host that carries the peer; `GET /v1/links` names it too. */
  host: PeerID
  /** How it is reached: `lan`, `folder` on one machine, `bluetooth`, or `relay` through another host. */
  medium: string
  /** Whether there is a link to its host. */
  linked: boolean
  /** The shortest round trip of the link in the last minutes, or the time of the last answer to a probe, where there was one. */
  roundTripMilliseconds?: number
  /** The host that relays the link. */
  via?: PeerID
  /** As of the link. */
  bytesPerSecond?: number
  /** As of the link. */
  loss?: number
}

export interface LinkList {
  items: Link[]
}

export interface Link {
  host: PeerID
  /** How the hosts are linked: `lan`, `folder` on one machine, `bluetooth`, or `relay` through a third host. */
  medium: string
  /** The host that relays the link. */
  via?: PeerID
  /** Whether it is kept beside the link in use, for the moment when that ends. */
  standby: boolean
  /** The address of the other end; for operators. */
  address?: string
  /** The shortest round trip of the last minutes: by the system, or by a ping each 5 s where that measures none. */
  roundTripMilliseconds?: number
  /** The rate at which the last bytes were delivered: by the system, or, where that measures none, as far as bytes had to wait for others before them. */
  bytesPerSecond?: number
  /** Since the link was made. */
  bytesSent: number
  /** The same of those that came, where the system measures it. */
  bytesReceived?: number
  /** The part of the bytes that was lost, and sent again; of a relayed link, on the way to its relay. Absent where the system measures none, as by Bluetooth. */
  loss?: number
}

export interface RadioList {
  items: Radio[]
  problem?: ProblemObject
}

export interface BluetoothPairingPatch {
  state: 'accepted' | 'declined'
}

export interface BluetoothPairing {
  id: string
  /** The address of the device. */
  device: string
  /** What the device calls itself, if it does; unverified. */
  displayName?: string
  /** The six digits that the device shows as well; absent where it shows none. */
  number?: string
  state: BluetoothPairingState
  createdAt: string
  /** Until then it can be answered. */
  expiresAt: string
}

export interface Radio {
  /** The name of its interface. */
  id: string
  /** Not in use, connected with a network, with a network that was made here, or turned off (rfkill). */
  state: 'idle' | 'connected' | 'network' | 'blocked'
  /** The networks that its driver can make; `null` where wpa_supplicant does not have it yet. */
  kinds: RadioNetworkKind[] | null
  /** Whether NetworkManager manages it. */
  isManaged: boolean
  network?: RadioNetwork
}

/** A group of Wi-Fi Direct that this machine owns, or a mesh (802.11s), in which all are equal. */
export type RadioNetworkKind = 'group' | 'mesh'

export interface RadioNetwork {
  kind: RadioNetworkKind
  /** The network's interface: the radio's, or one beside it. */
  interface: string
  /** Its SSID, or the mesh ID. */
  name: string
  /** Absent for an open mesh, and where another program has made the mesh. */
  password?: string
  /** The middle of its channel in MHz; 0 where it is not known. */
  frequency: number
  /** The number of devices that are connected with this one. */
  members: number
  /** These devices, as far as wpa_supplicant names them: those in a group, and the neighbours in a mesh. */
  stations: RadioStation[]
  /** Whether hosts have IPv6 addresses of their own making only, or are also given IPv4 addresses, which phones wait for. That takes the right to set addresses. */
  addressing: 'linkLocal' | 'dhcp'
  /** Whether the program that made it is gone. */
  isAbandoned: boolean
  /** The text of a QR code by which phones join; draw it by `POST /v1/qr-codes`. Absent for a mesh. */
  code?: string
  /** The address of this gateway for a browser in the network; absent where it has no IPv4 address there, or does not listen there. */
  url?: string
}

export interface RadioStation {
  /** Many phones make up another one for each network. */
  hardwareAddress: string
  /** The IPv4 address that this gateway gave it, or by which this machine has talked with it. */
  address?: string
  /** The host name that it gave itself when this gateway gave it an address; any device can claim any name. */
  name?: string
}

export type RadioNetworkRequest = RadioGroupRequest | RadioMeshRequest

/** A group has a generated name and password. */
export interface RadioGroupRequest {
  kind: 'group'
  /** The middle of its channel in MHz. */
  frequency?: number
  /** Whether a connection in use may be dropped for it. */
  force?: boolean
}

export interface RadioMeshRequest {
  kind: 'mesh'
  /** At most 32 bytes, without quotes. */
  name?: string
  /** At most 63 bytes, without quotes; by default none, so that everybody can join. Links between hosts are encrypted in any case. */
  password?: string
  /** The middle of its channel in MHz. */
  frequency?: number
  /** Whether a connection in use may be dropped for it. */
  force?: boolean
}

export interface Diagnosis {
  at: string
  findings: Finding[]
}

export interface Finding {
  check: 'container' | 'bus' | 'daemon' | 'discovery' | 'interfaces' | 'multicast' | 'port' | 'firewall' | 'folder' | 'isolation' | 'link' | 'radio' | 'bluetooth' | 'key' | 'storage'
  state: 'good' | 'doubtful' | 'bad' | 'unknown'
  text: string
  /** How to fix it. */
  cure?: string
}

export interface MetricHistory {
  /** Seconds between two samples. */
  seconds: number
  times: string[]
  /** Each has a value for each of the times. */
  series: {
    /** Received messages of sessions. */
    messagesReceived: MetricSeries
    /** Sent messages of sessions. */
    messagesSent: MetricSeries
    /** From clients, by HTTP and WebSockets. */
    bytesReceived: MetricSeries
    /** To clients, by HTTP and WebSockets. */
    bytesSent: MetricSeries
    /** Answered requests. */
    requests: MetricSeries
    /** Time of all these requests. */
    requestMicroseconds: MetricSeries
    /** Processor time of the process. */
    processorMilliseconds: MetricSeries
    /** Memory of the process, now. */
    memoryBytes: MetricSeries
    /** Connected members, counted for each end of a session, now. */
    members: MetricSeries
    /** Links with other hosts, now. */
    links: MetricSeries
    /** Open WebSockets, now. */
    webSockets: MetricSeries
  }
}

export type MetricSeries = number[]

export interface QRCodeRequest {
  /** At most 512 bytes of UTF-8. */
  text: string
}

/** Whether peers can be discovered; if not, the cause, and how to fix it. */
export interface Discovery {
  state: 'available' | 'unavailable'
  cause?: string
  cure?: string
}

export interface EventObject {
  id: string
  at: string
  /** Such as connected, suspended, mediumChanged, found, updated, away, here, invited, streamOpened, resourceEnded, resourceDamaged, messageDamaged, bluetoothPairing, advice. */
  event: string
  /** The path of the item. For a change of more than 16 members and sessions of the gateway there is one event: the path is then that in one of the sessions. */
  about: string
  displayName?: string
  /** If the event is about several members: their number. The path is then that of the list. */
  members?: number
  /** If the event is about several sessions of the gateway: their number. */
  sessions?: number
  name?: string
  serviceType?: string
  state?: string
  reason?: string
  /** `undelivered` or `unknown`. */
  deliveryStatus?: string
  /** With `suspended`: whether the link to the member was lost, or is back. */
  suspended?: boolean
  /** With `mediumChanged`: the medium over which the member is reached now. */
  medium?: string
  cause?: string
  cure?: string
  host?: string
  /** With `advice`: what works, and could be better. */
  text?: string
  fingerprint?: string
  /** With `settingsChanged`: their names. */
  settings?: string[]
}

export interface PairingCodeRequest {
  role?: Role
  scopes?: Scopes
  seconds?: number
  /** The number of clients that can pair with it. If that is more than one, the role is member or viewer, and their tokens expire with the code. */
  uses?: number
  /** Its purpose: at most 63 bytes of UTF-8. */
  label?: string
}

export interface PairingCode {
  id: string
  role: Role
  scopes: Scopes
  /** The number of clients that can still pair with it. */
  uses: number
  /** Its purpose; absent if none was given. */
  label?: string
  expiresAt: string
  /** Only in the response that creates it. */
  code?: string
}

export interface PairingRequest {
  /** Case, dashes and spaces are ignored. */
  code: string
  /** At most 63 bytes of UTF-8, without control characters, and with a visible one. */
  name?: string
  cookie?: boolean
}

export interface Pairing {
  /** The id of the new client. */
  client: string
  name: string
  role: Role
  scopes: Scopes
  expiresAt?: string
  /** Store it: it is not given again. */
  token?: string
  /** The CSRF token, to be sent with changes beside the cookie. */
  csrf?: string
}

export interface PairedClient {
  id: string
  name: string
  role: Role
  scopes: Scopes
  createdAt: string
  expiresAt?: string
}

export interface PeerRequest {
  /** At most 63 bytes of UTF-8, without control characters, and with a visible one. */
  displayName: string
  /** With `connection`, it ends when the last WebSocket of its client has been closed for 30 seconds. */
  lifetime?: 'connection' | 'stored'
}

export interface PeerObject {
  id: PeerID
  displayName: string
  lifetime: 'connection' | 'stored'
  /** Whether it is the gateway's own peer. */
  isGateway: boolean
  createdAt: string
  /** The time since when it is away, as its client had neither a WebSocket nor a request for `awaySeconds`; absent while it is present. */
  awaySince?: string
}

export interface AdvertiserRequest {
  /** Optional for a client with exactly one peer. */
  peer?: string
  serviceType: ServiceType
  discoveryInfo?: DiscoveryInfo
  invitations?: 'ask' | 'accept' | 'adhoc'
  /** The session for accepted invitations; by default a new one for each. */
  session?: string
  /** When it stops automatically, and is deleted: never; once the peer is connected with somebody; or once a session of the peer is full. */
  until?: 'stopped' | 'connected' | 'full'
}

export interface AdvertiserPatch {
  discoveryInfo?: DiscoveryInfo
}

export interface AdvertiserObject {
  id: string
  peer: PeerID
  serviceType: ServiceType
  discoveryInfo: DiscoveryInfo
  invitations: 'ask' | 'accept' | 'adhoc'
  until: 'stopped' | 'connected' | 'full'
  /** Whether others can find the peer; `failed` is retried automatically. */
  state: 'starting' | 'advertising' | 'failed'
  session?: string
  /** The cause of the failure, and how to fix it; absent in other states. */
  problem?: ProblemObject
}

export interface BrowserRequest {
  /** Optional for a client with exactly one peer. */
  peer?: string
  serviceType: ServiceType
  /** When it stops automatically, and is deleted: never; once the peer is connected with somebody; or once a session of the peer is full. */
  until?: 'stopped' | 'connected' | 'full'
}

export interface BrowserObject {
  id: string
  peer: PeerID
  serviceType: ServiceType
  until: 'stopped' | 'connected' | 'full'
  /** Whether peers can be found; `failed` is retried automatically. */
  state: 'starting' | 'browsing' | 'failed'
  /** The path of the list of found peers. */
  found: string
  /** The cause of the failure, and how to fix it; absent in other states. */
  problem?: ProblemObject
}

export interface FoundPeer {
  id: PeerID
  peer: PeerID
  displayName: string
  discoveryInfo: DiscoveryInfo
  /** Whether its key has been verified here. */
  verified: boolean
  /** The time since when it is away, and does not read messages; absent while it is present. */
  awaySince?: string
}

export interface InvitationRequest {
  /** The peer of the session; optional. */
  peer?: string
  session: string
  /** A found peer. */
  to: PeerID
  serviceType: string
  /** Shown to the invited side for its decision: at most 8 KiB. */
  context?: string
  encoding?: Encoding
  /** Seconds; 0 and less stand for 30. */
  timeout?: number
}

export interface InvitationPatch {
  state: 'accepted' | 'declined' | 'cancelled'
  /** The session into which to accept; by default a new one. */
  session?: string
}

export interface InvitationObject {
  id: string
  direction: Direction
  /** Your own. */
  peer: PeerID
  /** The inviting peer, of a received invitation. */
  from?: PeerID
  /** The invited peer, of a sent invitation. */
  to?: PeerID
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

export interface SessionRequest {
  /** Optional for a client with exactly one peer. */
  peer?: string
  /** Members whose preference does not match are not admitted. Everything is encrypted in transit in any case. */
  encryption?: 'optional' | 'required' | 'none'
  /** Admission policy. `any`: everybody; `ask`: a client decides on each member; `firstUse`: trust on first use, where the first key of a name is pinned (see /v1/trusted-peers); `anchors`: a certificate chain must lead to a trust anchor. */
  trust?: 'any' | 'ask' | 'firstUse' | 'anchors'
  maxPeers?: number
  resources?: 'ask' | 'accept'
  adhoc?: ServiceType
  /** The id of a security identity, which is shown to members; for operators. */
  identity?: string
  history?: HistoryRequest
}

/** The retention of messages, for clients that reconnect. */
export interface HistoryRequest {
  /** Where messages are kept: on the disk, over restarts and power cuts; in memory, until the gateway stops; or not at all. The default is `durable`, if the session itself is. */
  keep?: 'durable' | 'memory' | 'none'
  /** In memory at most 1,000,000. */
  count?: number
  /** At most `historyBytes` of the limits of the gateway, and in memory `memoryHistoryBytes`. All durable histories of a client have the quota `historyBytesPerClient`: a session that would exceed it is 507. */
  bytes?: number
  /** In seconds; older messages of a durable history are deleted. */
  age?: number
}

export interface SessionPatch {
  /** Whether further members are refused. */
  locked?: boolean
  /** The whole list of peers that are refused, and whose invitations are declined automatically. */
  blocked?: PeerID[]
  /** A service type, or null to stop. */
  adhoc?: ServiceType | null
  /** The seconds after which ad hoc mode stops; without it, a new `adhoc` has no end. */
  adhocSeconds?: number
}

export interface SessionObject {
  id: string
  peer: PeerID
  encryption: 'optional' | 'required' | 'none'
  trust: 'any' | 'ask' | 'firstUse' | 'anchors'
  maxPeers: number
  /** The number of connected members. */
  connected: number
  locked: boolean
  blocked: PeerID[]
  history: HistoryObject
  adhoc?: ServiceType
  /** The time at which ad hoc mode stops; absent without an end. */
  adhocUntil?: string
  /** Why ad hoc mode does not work now, and how to fix it; absent while it works. */
  adhocProblem?: ProblemObject
  createdAt: string
}

export interface HistoryObject {
  keep: 'durable' | 'memory' | 'none'
  count: number
  bytes: number
  /** In seconds. */
  age?: number
}

export interface Member {
  /** Its endpoint in the session; for a peer that was invited and did not join, its peer id. */
  id: string
  peer: PeerID
  displayName: string
  state: 'connecting' | 'connected' | 'notConnected'
  /** Whether its link is lost, and is being re-established. */
  suspended: boolean
  verified: boolean
  /** The host that carries it; `GET /v1/links` has the links to that host, with medium, round trip, rate and loss. */
  carriedBy: string
  /** The medium over which its host is reached, such as `lan`, `folder`, `bluetooth` or `relay`. Absent for a peer of this gateway. */
  medium?: string
  /** Its encryption preference, as its host says. */
  encryption?: 'optional' | 'required' | 'none'
  /** The endpoint whose invitation brought it into the session, as its host says: the id of a member, or of this session. Absent if nobody invited it. */
  inviter?: string
  /** The certificates of its security identity, leaf first, as they were decided on. Absent if it has shown none here, as without a decision. */
  chain?: Certificate[]
  /** Why it is not connected. */
  reason?: string
  /** The reason as a sentence. */
  detail?: string
  /** The time since when it is away: it stays connected, and messages for it wait. Absent while it is present. */
  awaySince?: string
}

export interface TrustDecisionPatch {
  decision: 'trust' | 'reject'
  remember?: boolean
}

export interface TrustDecision {
  id: string
  peer: PeerID
  displayName: string
  chain: Certificate[]
  state: 'pending'
  /** The deadline of the decision; after it the member is rejected. */
  expiresAt?: string
  /** Whether the chain leads to an anchor of this gateway. */
  trusted?: boolean
  /** Why it does not lead to one. */
  distrust?: string
}

export interface Certificate {
  subject: string
  issuer: string
  serial: string
  /** SHA-256, as ab:cd:…. */
  fingerprint: string
  validFrom?: string
  validUntil?: string
}

export interface MessageObject {
  id: string
  from: PeerID
  displayName: string
  /** Its recipients, if it was sent from here and not to all. */
  to?: PeerID[]
  mode: Mode
  at: string
  size: number
  /** As its sender declared it in Content-Type, unverified: at most 127 bytes. Without one, text/plain if the body is UTF-8, and else application/octet-stream. */
  contentType: string
  body: string
  encoding?: Encoding
  delivery?: Delivery
  /** Whether its body is lost, since it is corrupt on the gateway's disk. Absent otherwise. */
  damaged?: boolean
}

/** The delivery status of a reliable message that was sent from here. Each change of it is a change of the message. */
export interface Delivery {
  /** The number of recipients whose status is not known yet. */
  pending: number
  /** The number of recipients whose hosts have acknowledged it. */
  delivered: number
  /** The number of recipients that did not get it, and will not. */
  undelivered: number
  /** The number of recipients whose link was lost before the acknowledgement, so that they may have it or not. */
  unknown: number
  /** The recipients, if there are at most 64. */
  recipients?: DeliveryRecipient[]
}

export interface DeliveryRecipient {
  member: string
  peer: PeerID
  displayName: string
  state: 'pending' | 'delivered' | 'undelivered' | 'unknown'
}

export interface IdentityRequest {
  /** The file, of at most 524,288 bytes, in base64. */
  data: string
  encoding?: 'base64'
  password?: string
}

export interface Identity {
  id: string
  /** The leaf first. */
  certificates: Certificate[]
}

export interface AnchorRequest {
  /** One or more certificates. */
  pem: string
}

export interface Anchors {
  items: Anchor[]
}

export interface Anchor {
  id: string
  certificate: Certificate
}

export interface TrustedPeerRequest {
  peer: PeerID
  /** Its name here, whatever it calls itself; the rules are those of the name of a peer. */
  displayName: string
}

export interface TrustedPeer {
  /** Its peer id. */
  id: PeerID
  displayName: string
  /** How the key was confirmed: by a comparison of codes; by hand; or by trust on first use, as the first one of its name in a session with `trust: firstUse`, which does not make the peer verified. */
  confirmation: 'code' | 'hand' | 'firstUse'
}

export interface ComparisonRequest {
  /** A connected member, by its peer or its endpoint. */
  member: string
}

export interface ComparisonPatch {
  matches: boolean
}

export interface Comparison {
  /** The endpoint of the member. */
  id: string
  peer: PeerID
  displayName: string
  state: ComparisonState
  /** The code, to be compared with the one that the other side shows. */
  code?: string
  reason?: string
}

export interface SessionClockObject {
  /** Since the clock began, with fractions. */
  elapsedMilliseconds: number
  /** The error bound: the clock of `source` differs by no more. */
  boundMilliseconds: number
  /** The host that this one follows; null where the others follow this one. */
  source: string | null
  /** Whether it has been compared with the clocks of the others. */
  synchronized: boolean
  /** How often the clock was set forward or back here. Between two of these it never goes back. */
  steps: number
}

/** The data that another program needs to reach this session; they are unverified, and not secret. */
export interface ConnectionData {
  peer: PeerID
  data: string
  encoding: 'base64'
}

export interface ConnectionRequest {
  /** The peer whose data these are. */
  peer: PeerID
  /** Base64 of at most 16,384 bytes, as its program got them. */
  data: string
  encoding?: 'base64'
  /** Seconds; 0 and less stand for 30. */
  timeout?: number
}

export interface Connection {
  id: string
  peer: PeerID
  state: ConnectionState
  createdAt: string
  expiresAt: string
  problem?: ProblemObject
}

export interface StreamRequest {
  /** At most 255 bytes of UTF-8. */
  name: string
  /** A connected member, by its peer or its endpoint. */
  to: string
}

export interface StreamObject {
  id: string
  name: string
  direction: Direction
  from?: PeerID
  to?: PeerID
  displayName: string
  state: 'open' | 'closed' | 'failed'
  createdAt: string
  /** The number of bytes. */
  bytes?: number
  reason?: string
}

export interface ResourceRequest {
  /** At most 255 bytes of UTF-8. */
  name: string
  /** A connected member, by its peer or its endpoint, or a list of them; absent: all connected members. */
  to?: string | string[]
  contentType?: string
  size?: number
  /** The URL from which its content is fetched. */
  url?: string
}

export interface ResourcePatch {
  state: 'accepted' | 'declined'
}

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
  /** The number of uploaded bytes. */
  uploaded?: number
  /** The number of transferred bytes. */
  bytes: number
  bytesPerSecond?: number
  /** Estimated seconds to completion, at the recent rate; absent if unknown. */
  timeLeft?: number
  /** The same for resources that were sent to several members together, with one content. */
  group?: string
  /** Only in the answer to a request for several members: all of them, this one first. */
  resources?: ResourceObject[]
  /** Of the whole content, in hexadecimal: of a received one once it is complete; of a sent one if the upload had a digest, or while it waits for its member. */
  sha256?: string
  problem?: ProblemObject
  /** The path of its content. */
  content: string
  createdAt: string
}

export interface ClientQueues {
  /** The time of its last request or WebSocket message; absent if that was before the gateway's start. */
  lastSeenAt?: string
  sockets: {
    /** Queued responses. */
    queuedBytes: number
    /** Beyond this it is closed (4001). */
    queuedBytesMax: number
    /** Requests in progress. */
    requests: number
    channels: {
      channel: string
      /** Frames by which it lags behind the channel. */
      waiting: number
      /** Unreliable messages that were dropped for it, as it was too slow, since it subscribed. */
      dropped: number
    }[]
  }[]
  streamSockets: {
    /** The path of the stream. */
    stream: string
    /** Bytes that the client has not read; meanwhile no more are requested from the member (flow control). */
    queuedBytes: number
    queuedBytesMax: number
    /** Bytes that the member has not read; meanwhile no more are read from the client (flow control). */
    unwrittenBytes: number
    unwrittenBytesMax: number
  }[]
  /** Event streams and long polls. */
  followers: number
  /** The budget for responses of more than `smallAnswerBytes`: a client has one at a time. */
  largeAnswers: {
    /** Reserved for the response in progress. */
    bytes: number
    /** Limit for all clients together. */
    bytesMax: number
    /** Responses that wait for their turn. */
    waiting: number
    waitingMax: number
    /** Responses that were refused (429, 503), since they had waited too long. */
    refused: number
  }
  /** What the client has cost since the gateway's start. */
  usage: {
    /** HTTP requests, and frames from it on WebSockets. */
    requests: number
    /** In bodies, and on WebSockets. */
    bytesReceived: number
    /** In bodies, and on WebSockets. */
    bytesSent: number
    /** Processor time of its requests on the loop, each until its response or its first wait. */
    loopMicroseconds: number
    /** Limit for a turn of the loop, for the requests of all clients. */
    turnMicrosecondsMax: number
    /** Requests that wait for a later turn. */
    waiting: number
    /** Requests that have waited so. */
    delayed: number
  }
}

export interface AuditEntry {
  id: string
  at: string
  deed: AuditAction
  /** The path of the item. */
  about: string
  by: AuditActor
  /** The client that did it, or whose rule it was; absent for the gateway itself. */
  client?: string
  /** The peer that was admitted, or not. */
  peer?: string
  /** The Bluetooth device that was let in, or not. */
  device?: string
  /** The session, if it is about one. */
  session?: string
  /** The settings of the gateway that were changed. */
  settings?: string[]
  role?: Role
  scopes?: Scopes
}

/** A page of a list. */
export interface List<Item> {
  items: Item[]
  position: Position
  /** The cursor of the next page: pass it as `after`. */
  next?: string
}

/** The answer to GET at a path, where the compiler knows the path. */
export type AnswerAt<Path extends string> =
  Path extends `/v1/browsers/${string}/found/${string}/reach` ? Reach :
  Path extends `/v1/browsers/${string}/found/${string}` ? FoundPeer :
  Path extends `/v1/sessions/${string}/certificates/${string}` ? TrustDecision :
  Path extends `/v1/sessions/${string}/comparisons/${string}` ? Comparison :
  Path extends `/v1/sessions/${string}/connections/${string}` ? Connection :
  Path extends `/v1/sessions/${string}/members/${string}` ? Member :
  Path extends `/v1/sessions/${string}/messages/${string}` ? MessageObject :
  Path extends `/v1/sessions/${string}/resources/${string}` ? ResourceObject :
  Path extends `/v1/sessions/${string}/streams/${string}` ? StreamObject :
  Path extends `/v1/browsers/${string}/found` ? List<FoundPeer> :
  Path extends `/v1/clients/${string}/queues` ? ClientQueues :
  Path extends `/v1/sessions/${string}/certificates` ? List<TrustDecision> :
  Path extends `/v1/sessions/${string}/clock` ? SessionClockObject :
  Path extends `/v1/sessions/${string}/comparisons` ? List<Comparison> :
  Path extends `/v1/sessions/${string}/connection-data` ? ConnectionData :
  Path extends `/v1/sessions/${string}/connections` ? List<Connection> :
  Path extends `/v1/sessions/${string}/datagrams` ? List<MessageObject> :
  Path extends `/v1/sessions/${string}/members` ? List<Member> :
  Path extends `/v1/sessions/${string}/messages` ? List<MessageObject> :
  Path extends `/v1/sessions/${string}/resources` ? List<ResourceObject> :
  Path extends `/v1/sessions/${string}/streams` ? List<StreamObject> :
  Path extends `/v1/advertisers/${string}` ? AdvertiserObject :
  Path extends `/v1/anchors/${string}` ? Anchor :
  Path extends `/v1/bluetooth-pairings/${string}` ? BluetoothPairing :
  Path extends `/v1/browsers/${string}` ? BrowserObject :
  Path extends `/v1/clients/${string}` ? PairedClient :
  Path extends `/v1/gateway/diagnostics` ? Diagnosis :
  Path extends `/v1/gateway/history` ? MetricHistory :
  Path extends `/v1/identities/${string}` ? Identity :
  Path extends `/v1/invitations/${string}` ? InvitationObject :
  Path extends `/v1/pairing-codes/${string}` ? PairingCode :
  Path extends `/v1/peers/${string}` ? PeerObject :
  Path extends `/v1/radios/${string}` ? Radio :
  Path extends `/v1/sessions/${string}` ? SessionObject :
  Path extends `/v1/trusted-peers/${string}` ? TrustedPeer :
  Path extends `/v1/advertisers` ? List<AdvertiserObject> :
  Path extends `/v1/anchors` ? List<Anchor> :
  Path extends `/v1/audit` ? List<AuditEntry> :
  Path extends `/v1/bluetooth-pairings` ? List<BluetoothPairing> :
  Path extends `/v1/browsers` ? List<BrowserObject> :
  Path extends `/v1/clients` ? List<PairedClient> :
  Path extends `/v1/events` ? List<EventObject> :
  Path extends `/v1/gateway` ? Gateway :
  Path extends `/v1/identities` ? List<Identity> :
  Path extends `/v1/invitations` ? List<InvitationObject> :
  Path extends `/v1/links` ? LinkList :
  Path extends `/v1/pairing-codes` ? List<PairingCode> :
  Path extends `/v1/peers` ? List<PeerObject> :
  Path extends `/v1/radios` ? RadioList :
  Path extends `/v1/sessions` ? List<SessionObject> :
  Path extends `/v1/trusted-peers` ? List<TrustedPeer> :
  any
