// The types of the JavaScript client. `objects.d.ts` has what the gateway tells.

import type {
  AdvertiserObject, AnswerAt, Direction, DiscoveryInfo, FoundPeer, InvitationObject, InvitationState, Member, MessageObject, Pairing,
  ProblemObject, ResourceObject, ResourceState, SessionRequest, StreamObject,
} from './objects.js'

export * from './objects.js'

/** Names a peer: its ID, or an object that has one, such as a member, a found peer or a peer of one's own. */
export type PeerName = string | { peer: string } | { id: string }

/** The items of the list at a path, where the compiler knows the path. */
export type ItemAt<Path extends string> = AnswerAt<Path> extends { items: (infer Item)[] } ? Item : any

/** Tells that some events were missed; how many, if that is known. */
export interface Gap<Type extends string = string> { type: Type, missed?: number }

export interface EventLoopOptions {
  signal?: AbortSignal
  /** How many events the loop may be behind before it throws: 10,000 if nothing is said. */
  limit?: number
}

/** Anything that tells events with a value. */
export class Emitter<Events extends object = Record<string, unknown>> extends EventTarget {
  /** Calls the listener with the value of each event; returns the function that ends this. */
  on<Type extends keyof Events & string>(
    type: Type, listener: (value: Events[Type]) => void, options?: AddEventListenerOptions): () => void
  /** The values of events from now on. It throws a `Problem` of the kind 'gap' if some were missed. */
  events<Type extends keyof Events & string>(
    type: Type, options?: EventLoopOptions): AsyncIterableIterator<Events[Type]>
}

/** An error of the gateway, or of the way to it. */
export class Problem extends Error {
  constructor(problem: Partial<ProblemObject>, headers?: Headers)
  /** Such as 'notConnected'; 'offline' if there was no answer at all, 'gap' if events were missed. */
  kind: string
  title?: string
  status: number
  field?: string
  rule?: string
  limit?: number
  reason?: string
  retryAfter?: number
  headers?: Headers
  static offline(detail?: string): Problem
}

export interface RequestOptions {
  json?: unknown
  body?: BodyInit
  headers?: Record<string, string>
  signal?: AbortSignal
  keepalive?: boolean
  /** How often a request that nobody hears is made: three times if nothing is said. */
  attempts?: number
}

export interface GatewayOptions {
  /** The result of pairing for programs. */
  token?: string
  /** The result of pairing for a page, beside its cookie. */
  csrf?: string
  /** The class to follow collections with: Node before version 22 has none. */
  WebSocket?: unknown
  /** Where messages and uploads are kept over a reload: IndexedDB in browsers, memory elsewhere. */
  storage?: Storage
}

/** Tables of records, each with an `id`: 'messages' and 'uploads'. */
export interface Storage {
  isDurable: boolean
  all(table: string): Promise<any[]>
  put(table: string, record: { id: string }): Promise<unknown>
  delete(table: string, id: string): Promise<unknown>
}

export function memoryStorage(): Storage
export function indexedDBStorage(name: string): Storage
/** An id that nobody else makes. */
export function newID(): string

export type GatewayState = 'idle' | 'connecting' | 'online' | 'waiting' | 'refused'

/** A gateway, as one client sees it. */
export class Vicinity extends Emitter<{ state: GatewayState }> {
  /** Without an address, the gateway that served this file. */
  constructor(address?: string, options?: GatewayOptions)
  address: string
  token?: string
  csrf?: string
  /** The state of the WebSocket: 'waiting' to reconnect after `problem`, 'refused' for it. */
  get state(): GatewayState
  get problem(): Problem | null
  get storage(): Storage
  /** Messages that the gateway does not have yet. */
  get outbox(): Outbox
  get exportAddress(): string

  pair(code: string, options?: { name?: string, cookie?: boolean }): Promise<Pairing>
  deleteSelf(): Promise<void>

  /** This client's peer of that name: the one that it has, or a new one; always a new one if `reuse` is false. */
  peer(options: { name: string, lifetime?: 'stored' | 'connection', reuse?: boolean }): Promise<Peer>
  /** A session that one of this client's peers is in; from a `position` of before on. */
  session(id: string, options?: { since?: string }): Promise<Session>

  /** The object at a path, such as a `Link[]` in the `items` of '/v1/links'; with a query it is not known which. */
  get<Path extends string>(path: Path, options?: RequestOptions): Promise<AnswerAt<Path>>
  post(path: string, json?: unknown, options?: RequestOptions): Promise<any>
  put(path: string, json?: unknown, options?: RequestOptions): Promise<any>
  patch(path: string, json?: unknown, options?: RequestOptions): Promise<any>
  delete(path: string, options?: RequestOptions): Promise<any>
  request(method: string, path: string, options?: RequestOptions): Promise<any>
  fetch(method: string, path: string, options?: RequestOptions): Promise<Response>
  /** All items of a list, page after page, from the first. */
  list<Path extends string>(path: Path, options?: { limit?: number, signal?: AbortSignal }): AsyncGenerator<ItemAt<Path>, void, undefined>
  list<Item>(path: string, options?: { limit?: number, signal?: AbortSignal }): AsyncGenerator<Item, void, undefined>
  send(session: string, body: string | Uint8Array | Blob, options?: {
    to?: string[], mode?: 'reliable' | 'unreliable', contentType?: string, id?: string, signal?: AbortSignal, attempts?: number
  }): Promise<MessageObject>
  upload(session: string, blob: Blob, options: {
    to?: string | string[], name?: string, contentType?: string, signal?: AbortSignal
    onstart?: (resource: ResourceObject) => void, onprogress?: (sent: number, size: number) => void
  }): Promise<ResourceObject>
  uploadContent(path: string, blob: Blob, options?: {
    offset?: number, signal?: AbortSignal, failuresMax?: number, onprogress?: (sent: number, size: number) => void
  }): Promise<void>

  /** A collection and its changes; `limit` is how many of the latest items it has. */
  follow<Path extends string>(path: Path, options?: { limit?: number, since?: string }): Collection<ItemAt<Path>>
  follow<Item extends { id: string }>(path: string, options?: { limit?: number, since?: string }): Collection<Item>
  datagrams(session: string): Collection<MessageObject>
  connect(): void
  close(): void
}

export interface CollectionEvents<Item> {
  change: Collection<Item>
  put: { item: Item, before?: Item }
  del: { item: Item }
  datagram: Item
  gap: Gap
  end: Problem | null
}

/** The items under one path, kept as they are at the gateway. */
export class Collection<Item = any> extends Emitter<CollectionEvents<Item>> {
  private constructor()
  onchange: ((collection: this) => void) | null
  get path(): string
  get state(): 'waiting' | 'live' | 'stale' | 'ended'
  get problem(): Problem | null
  get dropped(): number
  get position(): string | null
  get ready(): Promise<this>
  get items(): Item[]
  get isComplete(): boolean
  /** Of a page, how many items the list has. */
  get counts(): { all: number, connected?: number } | null
  /** Of a page, the cursor of the one behind it. */
  get next(): string | undefined
  get(id: string): Item | undefined
  close(): void
}

export interface OutboxEntry {
  id: string
  session: string
  body: string | Uint8Array
  to: string[]
  contentType: string
  at: string
}

/** Messages on their way to the gateway. */
export class Outbox extends Emitter<{
  change: Outbox
  sent: { entry: OutboxEntry, message: MessageObject }
  /** The gateway does not take it; it is not in the outbox any more. */
  refused: { entry: OutboxEntry, problem: Problem }
}> {
  private constructor()
  /** Fulfilled once the messages of before a reload are in it. */
  ready: Promise<void>
  get items(): OutboxEntry[]
  add(entry: Omit<OutboxEntry, 'at'>): Promise<MessageObject>
  discard(id: string): Promise<void>
  /** Tries again at once. */
  wake(): void
  close(): void
}

export type SessionOptions = Omit<SessionRequest, 'peer' | 'adhoc'>

export interface InviteOptions {
  /** Needed if the peer is named by its ID. */
  serviceType?: string
  /** A new one if nothing is said. */
  session?: Session
  context?: string | ArrayBuffer | Uint8Array
  /** Seconds. */
  timeout?: number
  /** Takes the invitation back. */
  signal?: AbortSignal
}

export interface Found extends FoundPeer { serviceType: string }

/** A participant with a name. */
export class Peer extends Emitter<{ invitation: Invitation, end: null }> {
  private constructor()
  id: string
  displayName: string
  advertise(serviceType: string, info?: DiscoveryInfo, options?: {
    invitations?: 'ask' | 'accept' | 'adhoc', session?: Session, until?: 'stopped' | 'connected' | 'full'
  }): Promise<Advertiser>
  browse(serviceType: string, options?: { until?: 'stopped' | 'connected' | 'full' }): Browser
  invite(found: Found | PeerName, options?: InviteOptions): Promise<Session>
  invitations(options?: EventLoopOptions): AsyncIterableIterator<Invitation>
  session(options?: SessionOptions): Promise<Session>
  /** The session with all who have joined the same service type. */
  join(serviceType: string, options?: SessionOptions): Promise<Session>
  sessions(): Promise<Session[]>
  delete(): Promise<void>
  close(): void
}

export interface Advertiser extends AdvertiserObject {}
/** An advertised peer. */
export class Advertiser {
  private constructor()
  get path(): string
  update(info: DiscoveryInfo): Promise<this>
  stop(): Promise<void>
}

/** Peers of a service type, as they come and go. */
export class Browser extends Emitter<{ found: Found, updated: Found, lost: Found, end: Problem | null }> {
  private constructor()
  serviceType: string
  ready: Promise<this>
  get items(): Found[]
  stop(): Promise<void>
  [Symbol.asyncIterator](): AsyncIterator<Found>
}

export interface Invitation extends Omit<InvitationObject, 'from'> {}
/** An invitation that came. */
export class Invitation extends Emitter<{ end: null }> {
  private constructor()
  from: string
  state: InvitationState
  get path(): string
  get contextBytes(): Uint8Array
  accept(options?: { session?: Session, signal?: AbortSignal }): Promise<Session>
  decline(): Promise<void>
}

export interface SessionEvents {
  /** A reliable message of somebody else. */
  message: Message
  /** An unreliable one. */
  datagram: Message
  /** Each change of a member, and at first each who is there. */
  member: Member
  stream: Stream
  /** A resource that comes. */
  resource: Resource
  gap: Gap<'message' | 'datagram'>
  end: Problem | null
}

/** A session, as one of its peers sees it. */
export class Session extends Emitter<SessionEvents> {
  private constructor()
  id: string
  peer: string
  path: string
  get members(): Collection<Member>
  get messages(): Collection<MessageObject>
  get streams(): Collection<StreamObject>
  get resources(): Collection<ResourceObject>
  get connected(): Member[]
  get pending(): OutboxEntry[]
  get position(): string | null
  whenConnected(peer?: PeerName, options?: { signal?: AbortSignal }): Promise<Member>
  send(content: unknown, options?: {
    to?: PeerName | PeerName[], reliable?: boolean, type?: string, id?: string
  }): Promise<Message>
  openStream(name: string, to: PeerName): Promise<Stream>
  sendResource(content: Blob | URL | string, options: {
    to: PeerName, name?: string, type?: string, resume?: boolean
  }): Promise<Resource>
  /** To several members, or to all who are connected: it is uploaded once. */
  sendResource(content: Blob | URL | string, options?: {
    to?: PeerName[], name?: string, type?: string, resume?: boolean
  }): Promise<Resource[]>
  clock(): Promise<SessionClock>
  lock(isLocked?: boolean): Promise<any>
  remove(member: Member, options?: { ban?: boolean }): Promise<void>
  leave(): Promise<void>
  close(): void
}

/** The clock that all members of a session share. */
export class SessionClock {
  private constructor()
  start(): Promise<this>
  /** Milliseconds since the clock began. */
  get time(): number
  /** The error bound of `time`, in milliseconds; infinite while the clock has not been compared with those of all members. */
  get bound(): number
  /** How many milliseconds from now the clock shows `time`. */
  until(time: number): number
  close(): void
}

export interface Message extends MessageObject {}
export class Message {
  private constructor()
  get isReliable(): boolean
  /** A copy of the body's bytes. */
  get bytes(): Uint8Array
  get text(): string
  json(): any
}

/** One stream: who receives it has its `readable`, who opened it its `writable`. */
export class Stream {
  private constructor()
  id: string
  name: string
  peer: string
  displayName: string
  direction: Direction
  readable: ReadableStream<Uint8Array>
  writable: WritableStream<string | Uint8Array | ArrayBuffer>
  close(): Promise<void>
}

export interface Resource extends Omit<ResourceObject, 'uploaded'> {}
/** Content with a name, on its way to or from a member. */
export class Resource extends Emitter<{ progress: Resource, end: Problem | null }> {
  private constructor()
  state: ResourceState
  uploaded: number
  get isPaused(): boolean
  /** Fulfilled once it is whole at its receiver. */
  done: Promise<this>
  get path(): string
  get peer(): string
  get isOver(): boolean
  /** From 0 to 1. */
  get fraction(): number
  accept(): Promise<any>
  decline(): Promise<any>
  stream(options?: { offset?: number, signal?: AbortSignal }): Promise<ReadableStream<Uint8Array>>
  blob(options?: { signal?: AbortSignal }): Promise<Blob>
  pause(): void
  resume(): void
  cancel(): Promise<void>
}
