// REST: requests that are retried if they failed on the way, messages and uploads.

import { Emitter } from './emitter.js'
import { newID } from './id.js'
import { Problem } from './problem.js'
import { backoff, pause } from './retry.js'
import { uploadContent } from './upload.js'

/** The number of attempts at a request that gets no answer; each can be repeated without harm. */
const attemptsMax = 3

/** The address of the gateway that served this file, if one did. */
const ownAddress = /^https?:/.test(import.meta.url)
  ? import.meta.url.replace(/\/(client\/([^/]+\/)?)?[^/]*$/, '') : undefined

export class RestClient extends Emitter {
  constructor(address = ownAddress, { token, csrf } = {}) {
    super()
    this.address = address.replace(/\/$/, '')
    this.token = token
    this.csrf = csrf
  }

  /** Spends a pairing code. A page asks for a cookie; a program gets a token, which it should keep. */
  async pair(code, { name, cookie = false } = {}) {
    const client = await this.post('/v1/pairings', { code, name, cookie })
    this.token = client.token
    this.csrf = client.csrf
    return client
  }

  /** The address of all that the gateway keeps of this client, as lines of JSON: for a link that saves it. */
  get exportAddress() { return `${this.address}/v1/clients/self/export` }

  /** Deletes all that the gateway keeps of this client, which must pair anew to come back. */
  async deleteSelf() {
    try {
      await this.delete('/v1/clients/self')
    } catch (error) {
      // The first attempt succeeded, and its answer was lost.
      if (error.status !== 401) throw error
    }
  }

  // Requests

  get(path, options) { return this.request('GET', path, options) }
  post(path, json, options) { return this.request('POST', path, { json: json ?? {}, ...options }) }
  put(path, json, options) { return this.request('PUT', path, { json, ...options }) }
  patch(path, json, options) { return this.request('PATCH', path, { json, ...options }) }
  delete(path, options) { return this.request('DELETE', path, options) }

  /** The JSON of the answer, or null if it has none; an error is thrown as a `Problem`. */
  async request(method, path, options = {}) {
    const response = await this.fetch(method, path, options)
    if (response.status === 204 || response.status === 304) return null
    const type = response.headers.get('Content-Type') ?? ''
    return /[/+]json/.test(type) ? response.json() : response.text()
  }

  /** The answer itself, as for a download. A request without an answer is retried, unless it is a PATCH. */
  async fetch(method, path, { json, body, headers = {}, signal, keepalive, attempts = attemptsMax } = {}) {
    const all = { ...headers }
    if (json !== undefined) all['Content-Type'] = 'application/json'
    if (this.token) all.Authorization = `Bearer ${this.token}`
    if (this.csrf && method !== 'GET' && method !== 'HEAD') all['X-Vicinity-CSRF'] = this.csrf
    if (method === 'POST') all['Idempotency-Key'] ??= newID()
    const request = { method, headers: all, body: json === undefined ? body : JSON.stringify(json), signal, keepalive }
    for (let attempt = 1; ; attempt += 1) {
      let response
      try {
        response = await fetch(this.address + path, { credentials: 'same-origin', cache: 'no-store', ...request })
      } catch (error) {
        if (signal?.aborted) throw error
        if (method === 'PATCH' || attempt >= attempts) throw Problem.offline()
        await pause(backoff(attempt - 1), signal)
        continue
      }
      if (response.ok || response.status === 304) return response
      const problem = await response.json().catch(() => ({}))
      throw new Problem({ status: response.status, title: response.statusText, ...problem }, response.headers)
    }
  }

  /** All items of a list, page after page, from the first. */
  async * list(path, { limit = 100, signal } = {}) {
    const query = (after) => `${path.includes('?') ? '&' : '?'}limit=${limit}${after ? `&after=${after}` : ''}`
    for (let next = ''; next !== undefined;) {
      const page = await this.get(path + query(next), { signal })
      yield* page.items
      next = page.next
    }
  }

  // Messages and files

  /**
   * Sends text or bytes to those who are named, or to all who are connected. A reliable message is sent once, however
   * often the network loses the request: its id says which one it is. Who receives it is told the content type.
   */
  send(session, body, { to = [], mode = 'reliable', contentType = 'text/plain; charset=utf-8', id = newID(), ...options } = {}) {
    const query = new URLSearchParams(to.map((peer) => ['to', peer]))
    if (mode !== 'reliable') query.append('mode', mode)
    const [method, place] = mode === 'reliable' ? ['PUT', `/${encodeURIComponent(id)}`] : ['POST', '']
    const path = `/v1/sessions/${session}/messages${place}`
    const search = query.toString()
    return this.request(method, search ? `${path}?${search}` : path, {
      body, headers: { 'Content-Type': contentType }, ...options,
    })
  }

  /** Offers a Blob to a member, to a list of them, or to all who are connected. It ends when the gateway has all of it; what follows, the resource's state says. */
  async upload(session, blob, { to, name = blob.name, contentType = blob.type, onstart, onprogress, signal } = {}) {
    const resource = await this.post(
      `/v1/sessions/${session}/resources`,
      { to, name, size: blob.size, contentType: contentType || 'application/octet-stream' }, { signal })
    onstart?.(resource)
    await this.uploadContent(`/v1/sessions/${session}/resources/${resource.id}`, blob, { onprogress, signal })
    return resource
  }

  /** Uploads the content of a resource, from where the gateway is. */
  uploadContent(path, blob, options) { return uploadContent(this, path, blob, options) }
}
