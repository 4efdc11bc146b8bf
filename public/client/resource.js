// Resources: content with a name, on its way to or from a member.

import { attach, fail, update } from './content-upload.js'
import { emit, Emitter, finish } from './emitter.js'
import { Problem, problem } from './problem.js'

const endStates = ['complete', 'declined', 'cancelled', 'failed', 'damaged']

/**
 * One resource. `progress` is an event of each change; `end` comes last. `done` is fulfilled once it is whole at the
 * other side, or here.
 */
export class Resource extends Emitter {
  #gateway
  #path
  #settle
  #upload = null

  constructor(gateway, session, item) {
    super()
    this.#gateway = gateway
    this.#path = `/v1/sessions/${session}/resources/${item.id}`
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

  get isPaused() { return this.#upload?.isPaused ?? false }

  /** Stops the upload, for all to whom the content goes; the gateway keeps what it has. It throws where nothing is uploaded from here. */
  pause() { this.#needUpload().pause() }

  /** Goes on from where the gateway is. */
  resume() { this.#needUpload().resume() }

  #needUpload() {
    if (this.#upload) return this.#upload
    const detail = `${this.name} is not uploaded from here: only an upload can be paused, by its sender.`
    throw problem('unsupported', 'Cannot be paused', detail)
  }

  /** Ends it for both sides; what is here of it is deleted, unless others get the same content. */
  async cancel() {
    await this.#upload?.leave(this)
    await this.#gateway.delete(this.#path)
    this.#update({ state: 'cancelled' })
  }

  [attach](upload) { this.#upload = upload }
  [fail](error) { this.#end(error) }

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
