// A subscription at the gateway, and the collections that show it.

import { emit, Emitter, finish } from './emitter.js'

/**
 * The items under one path, kept as they are at the gateway. Each change is a `change`; `put` and `del` say which item
 * it was, so that who adds them up has the items. The first tell what was there.
 */
export class Collection extends Emitter {
  #channel
  #limit

  constructor(channel, limit) {
    super()
    this.#channel = channel
    this.#limit = limit
    this.onchange = null
    this.addEventListener('change', () => this.onchange?.(this))
  }

  get path() { return this.#channel.path }
  /** 'waiting' for the gateway, 'live', 'stale' while it is away, 'ended'; why it ended is its `problem`. */
  get state() { return this.#channel.state }
  get problem() { return this.#channel.problem }
  /** How many unreliable messages were dropped, since this client was too slow for them. */
  get dropped() { return this.#channel.dropped }
  /** Epoch and offset of the last change that is in it. */
  get position() { return this.#channel.position }
  /** Fulfilled once it is live, or will never be. */
  get ready() { return this.#channel.ready.then(() => this) }
  /** In the order in which they came; the latest of them, if it was asked for with a limit. */
  get items() {
    const { list } = this.#channel
    return list.length > this.#limit ? list.slice(-this.#limit) : list
  }
  /** The number of items that the list of a page has: `all`, and of members `connected`; null where it is no page. */
  get counts() { return this.#channel.counts }
  /** The cursor of the page behind this one; undefined where there is none. */
  get next() { return this.#channel.next }
  /** Whether the gateway has no older items than these; `list` of the gateway has all. */
  get isComplete() { return this.#channel.isComplete && this.#channel.list.length <= this.#limit }
  get(id) { return this.#channel.items.get(id) }

  /** Ends the events to its listeners; others of the same path go on. */
  close() {
    this.#channel.remove(this)
    finish(this)
  }
}

/** A subscription at the gateway, shared by all collections of its path. */
export class Channel {
  #list = null
  #followers = new Map()
  #unfollow
  #resolve
  /** Whether it continues from a position, so that a snapshot means that changes were missed. */
  #continues

  constructor(path, since, unfollow) {
    this.path = path
    this.#unfollow = unfollow
    /** Whether items stay; unreliable messages are each reported once. */
    this.isKept = !path.endsWith('/datagrams')
    this.items = new Map()
    this.isComplete = true
    /** The counts and the next cursor are those of a page, which is followed by its path with a query. */
    this.counts = null
    this.next = undefined
    this.dropped = 0
    this.position = since ?? null
    this.#continues = since !== undefined
    this.state = 'waiting'
    this.problem = null
    this.#renew()
  }

  get list() { return (this.#list ??= [...this.items.values()]) }
  /** As many items are kept as the collection with the highest limit shows. */
  get #limit() { return Math.max(...this.#followers.values()) }

  addFollower(limit = Infinity) {
    const follower = new Collection(this, limit)
    this.#followers.set(follower, limit)
    // A follower that joins later gets the items that earlier ones got with a change.
    if (this.state !== 'waiting') {
      queueMicrotask(() => {
        for (const item of follower.items) this.#tell(follower, 'put', { item })
        this.#tell(follower, 'change', follower)
      })
    }
    return follower
  }

  /** Whether items are not kept here that a follower with this limit shows. */
  lacks(limit = Infinity) { return !this.isComplete && limit > this.#limit }

  /** Forgets the position, so that all items are reported anew. */
  restart(continues) {
    this.position = null
    this.#continues = continues
    this.lost()
  }

  remove(follower) {
    if (this.#followers.delete(follower) && this.#followers.size === 0) this.#unfollow()
  }

  #renew() {
    this.ready = new Promise((resolve) => { this.#resolve = resolve })
  }

  #announce(type, detail, more) {
    for (const follower of [...this.#followers.keys()]) this.#tell(follower, type, detail ?? follower, more)
  }

  /** Unless it was closed meanwhile, as by another's listener. */
  #tell(follower, type, detail, more) {
    if (this.#followers.has(follower)) emit(follower, type, detail, more)
  }

  #put(item) {
    const before = this.items.get(item.id)
    this.items.set(item.id, item)
    const limit = this.#limit
    for (const id of this.items.keys()) {
      if (this.items.size <= limit) break
      this.items.delete(id)
      this.isComplete = false
    }
    this.#list = null
    this.#announce('put', { item, before })
  }

  #delete(id) {
    const item = this.items.get(id)
    if (!this.items.delete(id)) return
    this.#list = null
    this.#announce('del', { item })
  }

  #replace(items) {
    const before = this.items
    const limit = this.#limit
    if (items.length > limit) {
      items = items.slice(-limit)
      this.isComplete = false
    }
    this.items = new Map(items.map((item) => [item.id, item]))
    this.#list = null
    for (const [id, item] of before) if (!this.items.has(id)) this.#announce('del', { item })
    items.forEach((item, index) => {
      const old = before.get(item.id)
      if (old && JSON.stringify(old) === JSON.stringify(item)) return
      for (const [follower, shown] of [...this.#followers]) {
        if (index >= items.length - shown) this.#tell(follower, 'put', { item, before: old })
      }
    })
  }

  /** Takes what is different in a page. */
  #turn({ del, put, counts, next }) {
    this.counts = counts
    this.next = next
    this.isComplete = next === undefined
    for (const id of del) this.#delete(id)
    for (const item of put) this.#put(item)
    this.#announce('change')
  }

  #gap(missed) { this.#announce('gap', { type: this.isKept ? 'put' : 'datagram', missed }) }

  // Calls by the client

  begin({ position, recovered, items = [], missed, oldest, counts = null, next }) {
    this.position = position
    this.counts = counts
    this.next = next
    this.state = 'live'
    this.#resolve()
    if (!recovered) {
      if (this.#continues && missed !== 0 && !counts) {
        if (!this.isKept) this.dropped += missed ?? 0
        this.#gap(missed)
      }
      if (this.isKept) {
        this.isComplete = oldest === undefined && next === undefined
        this.#replace(items)
      }
    }
    this.#continues = true
    this.#announce('change')
  }

  /** Whether the change is the next one. */
  take({ o, put, del, gone = del === undefined ? [] : [del], page, dropped, skip = dropped ?? 1 }) {
    const [epoch, offset] = this.position.split('.')
    if (page) {
      this.position = `${epoch}.${o}`
      this.#turn(page)
      return true
    }
    if (o !== Number(offset) + skip) return false
    this.position = `${epoch}.${o}`
    if (dropped) {
      this.dropped += dropped
      this.#gap(dropped)
      this.#announce('change')
    }
    if (put && !this.isKept) {
      this.#announce('datagram', put, { message: put })
      return true
    }
    if (put) this.#put(put)
    for (const id of gone) this.#delete(id)
    if (put || gone.length > 0) this.#announce('change')
    return true
  }

  lost() {
    if (this.state !== 'live') return
    this.state = 'stale'
    this.#renew()
  }

  end(problem) {
    this.state = 'ended'
    this.problem = problem
    this.#resolve()
    this.#announce('change')
    for (const follower of [...this.#followers.keys()]) finish(follower, problem)
  }
}
