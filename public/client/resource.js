// Resources: content with a name, on its way to or from a member.

import { PartDigests, RunningDigest } from './digest.js'
import { emit, Emitter, finish } from './emitter.js'
import { nullIfMissing } from './ensure.js'
import { Problem, problem } from './problem.js'
import { uploadContent, uploadedBytes } from './upload.js'

export { RunningDigest }

/** The methods by which a session updates a resource. */
export const update = Symbol('update')
export const upload = Symbol('upload')

const endStates = ['complete', 'declined', 'cancelled', 'failed', 'damaged']

/**
 * One resource. `progress` is an event of each change; `end` comes last. `done` is fulfilled once it is whole at the
 * other side, or here.
 */
export class Resource extends Emitter {
  #gateway
  #path
  #settle
  #content = null
  #stop = null
  #running = null

  constructor(gateway, session, item) {
    super()
    this.#gateway = gateway
    this.#path = `/v1/sessions/${session}/resources/${item.id}`
    this.isPaused = false
    this.uploaded = 0
    this.done = new Promise((resolve, reject) => { this.#settle = { resolve, reject } })
    this.done.catch(() => {})
    Object.assign(this, item)
    this.#update(item)
  }

  get path() { return this.#path }
  get peer() { return this.from ?? this.to }
  get isOver() { return endStates.includes(this.state) }
  /** From 0 to 1; of one that goes out, half of it is the way to the gateway. */
  get fraction() {
    if (this.state === 'complete') return 1
    if (!this.size) return 0
    return this.direction === 'incoming' ? this.bytes / this.size : (this.uploaded + this.bytes) / (2 * this.size)
  }

  // One that comes

  accept() { return this.#gateway.patch(this.#path, { state: 'accepted' }) }
  decline() { return this.#gateway.patch(this.#path, { state: 'declined' }) }

  /** Its content, as a stream, from the byte `offset` on. It comes from somebody else: never run it as it is. */
  async stream({ offset = 0, signal } = {}) {
    const headers = offset > 0 ? { Range: `bytes=${offset}-` } : {}
    return (await this.#gateway.fetch('GET', `${this.#path}/content`, { headers, signal })).body
  }

  async blob(options) {
    return (await this.#gateway.fetch('GET', `${this.#path}/content`, options)).blob()
  }

  // One that goes out

  /** Stops the upload; the gateway keeps what it has. */
  pause() {
    if (!this.#content || this.isPaused || this.state !== 'uploading') return
    this.isPaused = true
    this.#stop?.abort()
    emit(this, 'progress', this)
  }

  /** Goes on from where the gateway is. */
  resume() {
    if (!this.isPaused) return
    this.isPaused = false
    emit(this, 'progress', this)
    this.#run()
  }

  /** Ends it for both sides; what is here of it is deleted. */
  async cancel() {
    this.#stop?.abort()
    await this.#forget()
    await this.#gateway.delete(this.#path)
    this.#update({ state: 'cancelled' })
  }

  /** Uploads the content, of which the digest may have read a part already. */
  [upload](content, digest = new PartDigests()) {
    this.#content = { blob: content, digest }
    this.#run()
  }

  #run() {
    const stop = new AbortController()
    const before = this.#running
    this.#stop = stop
    this.#running = (async () => {
      // The run that was paused may not be over.
      await before
      try {
        await this.#uploadAll(stop.signal)
        await this.#forget()
      } catch (error) {
        if (stop.signal.aborted) return
        await this.#forget()
        this.#end(error)
      }
    })()
  }

  async #uploadAll(signal) {
    const { blob, digest } = this.#content
    const offset = await uploadedBytes(this.#gateway, this.#path, this.uploaded)
    if (offset === null) return
    await uploadContent(this.#gateway, this.#path, blob, {
      offset, digest, signal, failuresMax: Infinity,
      onprogress: (uploaded) => {
        this.#update({ uploaded })
        const { record } = digest
        if (record) this.#gateway.storage.put('uploads', this.#record(record)).catch(() => {})
      },
    })
  }

  /** By which the same content is known after a reload. */
  #record(digests) {
    const { id, to, name, size } = this
    return { id, path: this.#path, to, name, size, ...digests }
  }

  #forget() { return this.#gateway.storage.delete('uploads', this.id).catch(() => {}) }

  // Events of the gateway

  /** Takes what the session's list says of it; null if it is not in there any more. */
  [update](item) { this.#update(item ?? (this.isOver ? {} : { state: 'cancelled' })) }

  #update(item) {
    // The page's upload may be ahead of the list's entry.
    const uploaded = Math.max(this.uploaded ?? 0, item.uploaded ?? 0)
    Object.assign(this, item, { uploaded })
    emit(this, 'progress', this)
    if (!this.isOver) return
    if (this.state === 'complete') {
      this.#settle.resolve(this)
      return finish(this)
    }
    const kind = { declined: 'cancelled', failed: 'unknown', damaged: 'unknown' }[this.state] ?? this.state
    this.#end(item.problem ? new Problem(item.problem) : problem(kind, 'Not transferred', `${this.name} was ${this.state}.`))
  }

  #end(error) {
    this.#settle.reject(error)
    finish(this, error)
  }
}

/**
 * The upload of the same content to the same member that a reload has interrupted, and the digest of its part that was
 * verified: the beginning of the content has the digest that was recorded then.
 */
export async function interrupted(gateway, session, { to, name, content }) {
  const path = `/v1/sessions/${session}/resources/`
  for (const record of await gateway.storage.all('uploads').catch(() => [])) {
    const isSame = record.path === path + record.id && record.to === to && record.name === name
    if (!isSame || record.size !== content.size) continue
    const item = await gateway.get(record.path).catch(nullIfMissing)
    if (item?.state !== 'uploading') {
      await gateway.storage.delete('uploads', record.id)
      continue
    }
    const digest = await PartDigests.of(content, record.ends ?? [])
    if (digest?.text === record.digest) return { item, digest }
  }
  return null
}
