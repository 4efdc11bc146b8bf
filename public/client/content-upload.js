// The upload of a content, for one resource or for several that share it.

import { PartDigests, RunningDigest } from './digest.js'
import { emit } from './emitter.js'
import { nullIfMissing } from './ensure.js'
import { uploadContent, uploadedBytes } from './upload.js'

export { RunningDigest }

/** The methods by which a session and an upload tell a resource what they know. */
export const update = Symbol('update')
export const fail = Symbol('fail')
export const attach = Symbol('attach')

/** It goes to one of the resources, and on to another where that is cancelled: it ends with the last one. */
export class ContentUpload {
  #gateway
  #session
  #resources
  #content
  #digest
  #toAll
  #stop = null
  #running = null

  /** Begins; the digest may have read a part of the content already. `toAll` tells whether the program has named no members. */
  constructor(gateway, session, resources, content, { digest = new PartDigests(), toAll = false } = {}) {
    this.#gateway = gateway
    this.#session = session
    this.#resources = resources
    this.#content = content
    this.#digest = digest
    this.#toAll = toAll
    this.isPaused = false
    for (const resource of resources) resource[attach](this)
    this.#run()
  }

  get #needing() { return this.#resources.filter(({ state }) => state === 'uploading') }

  pause() {
    if (this.isPaused || this.#needing.length === 0) return
    this.isPaused = true
    this.#stop.abort()
    this.#tell()
  }

  resume() {
    if (!this.isPaused) return
    this.isPaused = false
    this.#tell()
    this.#run()
  }

  /** Goes on without a resource that is cancelled. */
  async leave(resource) {
    const [target] = this.#needing
    this.#resources = this.#resources.filter((other) => other !== resource)
    if (this.#needing.length === 0) {
      this.#stop.abort()
      await this.#forget(resource)
    } else if (target === resource && !this.isPaused) {
      this.#stop.abort()
      this.#run()
    }
  }

  #tell() {
    for (const resource of this.#needing) emit(resource, 'progress', resource)
  }

  #run() {
    const stop = new AbortController()
    const before = this.#running
    this.#stop = stop
    this.#running = (async () => {
      // The run that was paused may not be over.
      await before
      if (stop.signal.aborted) return
      try {
        await this.#upload(stop.signal)
        await this.#forget(this.#resources[0])
      } catch (error) {
        if (stop.signal.aborted) return
        await this.#forget(this.#resources[0])
        for (const resource of this.#resources) resource[fail](error)
      }
    })()
  }

  async #upload(signal) {
    for (;;) {
      const [target, ...others] = this.#needing
      if (!target) return
      try {
        const offset = await uploadedBytes(this.#gateway, target.path, target.uploaded)
        if (offset === null) return
        return await uploadContent(this.#gateway, target.path, this.#content, {
          offset, digest: this.#digest, signal, failuresMax: Infinity, onprogress: (uploaded) => this.#uploaded(uploaded),
        })
      } catch (error) {
        // It was cancelled elsewhere, and the others still need the content.
        const isGone = ['notFound', 'gone'].includes(error.kind)
        if (signal.aborted || !isGone || others.length === 0) throw error
        target[update](null)
      }
    }
  }

  #uploaded(uploaded) {
    for (const resource of this.#needing) resource[update]({ uploaded })
    const [first] = this.#resources
    const { record } = this.#digest
    if (first && record) this.#gateway.storage.put('uploads', this.#record(first, record)).catch(() => {})
  }

  /** By which the same content is known after a reload. */
  #record(first, digests) {
    const resources = this.#resources.map(({ id, to }) => ({ id, to }))
    const { name, size } = first
    return { id: recordOf(first), session: this.#session, resources, toAll: this.#toAll, name, size, ...digests }
  }

  #forget(resource) { return this.#gateway.storage.delete('uploads', recordOf(resource)).catch(() => {}) }
}

const recordOf = ({ id, group }) => group ?? id
const recipients = (list) => [...list].sort().join()

/**
 * The resources of an upload of the same content to the same members that a reload has interrupted, and the digest of the
 * part that was verified: the beginning of the content has the digest that was recorded then. Without `to` it is one to all who
 * were connected then; with a `resource`, only the upload of that one.
 */
export async function interrupted(gateway, session, { to, name, content, resource }) {
  for (const record of await gateway.storage.all('uploads').catch(() => [])) {
    const isSame = () => (to ? recipients(record.resources?.map((other) => other.to) ?? []) === recipients(to) : record.toAll)
    const isMeant = resource ? record.id === recordOf(resource) : isSame()
    if (!isMeant || record.session !== session || record.name !== name || record.size !== content.size) continue
    const path = `/v1/sessions/${session}/resources`
    const items = await Promise.all(record.resources.map(({ id }) => gateway.get(`${path}/${id}`).catch(nullIfMissing)))
    const uploading = items.filter((item) => item?.state === 'uploading')
    if (uploading.length === 0) {
      await gateway.storage.delete('uploads', record.id)
      continue
    }
    const digest = await PartDigests.of(content, record.ends ?? [])
    if (digest?.text === record.digest) return { items: uploading, digest }
  }
  return null
}

/** Whether a part of the resource's content is known here. */
export const isRecorded = async (gateway, resource) =>
  (await gateway.storage.all('uploads').catch(() => [])).some(({ id }) => id === recordOf(resource))
