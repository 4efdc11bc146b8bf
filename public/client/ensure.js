// Things at the gateway that a program wants to exist, and finds or makes: its own from before a reload or a restart of
// the gateway, or those of another of its tabs.

import { newID, toBase64 } from './id.js'
import { Sha256 } from './digest.js'

/** The item of a list that is `wanted`, or a new one; two tabs that ask at the same time get the same. */
export async function ensure(gateway, path, body, wanted) {
  for await (const item of gateway.list(path, { limit: 1000 })) if (wanted(item)) return item
  // The gateway carries out the first of two requests with one key, and answers both.
  const key = toBase64(new Sha256().add(new TextEncoder().encode(`${path} ${JSON.stringify(body)}`)).bytes)
  for (const idempotencyKey of [key, newID()]) {
    const item = await postOnce(gateway, path, body, idempotencyKey)
    // The answer is known for a day; what it made may be deleted by now.
    if (await gateway.get(`${path}/${item.id}`).catch(nullIfMissing)) return item
  }
  throw new Error(`What was made at ${path} was deleted at once.`)
}

async function postOnce(gateway, path, body, key) {
  for (;;) {
    try {
      return await gateway.post(path, body, { headers: { 'Idempotency-Key': key } })
    } catch (error) {
      // The other tab's request is under way.
      if (error.kind !== 'conflict' || error.field) throw error
      await new Promise((resolve) => { setTimeout(resolve, 100) })
    }
  }
}

export function nullIfMissing(error) {
  if (error.status === 404 || error.status === 410) return null
  throw error
}
