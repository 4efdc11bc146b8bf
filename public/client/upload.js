// Resumable uploads, a piece after the other.

import { isTemporary } from './problem.js'
import { backoff, pause } from './retry.js'

const pieceBytesMin = 256 * 1024
const pieceBytesMax = 8 * 1024 * 1024
/** In a row. */
const failuresMaxDefault = 20

/**
 * Uploads the content of a resource from `offset` on; after a failure, from where the gateway is. With a `digest` of
 * the content, a `RunningDigest`, the gateway compares it at the end.
 */
export async function uploadContent(gateway, path, blob, options = {}) {
  let { offset = 0 } = options
  const { digest, onprogress, signal, failuresMax = failuresMaxDefault } = options
  let pieceBytes = pieceBytesMin
  let failures = 0
  for (let isWhole = false; !isWhole;) {
    onprogress?.(offset, blob.size)
    const piece = blob.slice(offset, offset + pieceBytes)
    const end = offset + piece.size
    isWhole = end >= blob.size
    const start = performance.now()
    try {
      const headers = { 'Upload-Offset': `${offset}`, 'Upload-Complete': isWhole ? '?1' : '?0' }
      if (digest && isWhole) {
        await digest.advance(blob, end)
        headers['Repr-Digest'] = digest.header
      }
      const sent = gateway.fetch('PATCH', `${path}/content`, { body: piece, signal, headers })
      // The processor has nothing else to do meanwhile. An error of the request counts, however soon it comes.
      sent.catch(() => {})
      await digest?.advance(blob, end)
      await sent
      offset = end
      failures = 0
      const isQuick = performance.now() - start < 250
      pieceBytes = Math.min(pieceBytesMax, Math.max(pieceBytesMin, isQuick ? pieceBytes * 2 : pieceBytes / 2))
    } catch (error) {
      failures += 1
      if (signal?.aborted || !isTemporary(error) || failures > failuresMax) throw error
      await pause(backoff(failures - 1), signal)
      offset = await uploadedBytes(gateway, path, offset)
      if (offset === null) return
      isWhole = false
    }
  }
  onprogress?.(blob.size, blob.size)
}

/** How much of a content is at the gateway; null if it has all of it. */
export async function uploadedBytes(gateway, path, otherwise) {
  const resource = await gateway.get(path).catch((error) => {
    if (isTemporary(error)) return { state: 'unknown' }
    throw error
  })
  if (resource.state === 'unknown') return otherwise
  return resource.state === 'uploading' ? resource.uploaded : null
}
