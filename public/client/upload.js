// Resumable uploads, a piece after the other.

import { isTemporary } from './problem.js'
import { backoff, pause } from './retry.js'

const pieceBytesMin = 256 * 1024
/** The limit for a part with a digest of its own: memory has room for two. */
export const partBytesMax = 16 * 1024 * 1024
/** In a row. */
const failuresMaxDefault = 20

/**
 * Uploads the content of a resource from `offset` on; after a failure, from where the gateway is. With a `digest` of
 * the content the gateway compares what it gets with that.
 */
export async function uploadContent(gateway, path, blob, options = {}) {
  let { offset = 0 } = options
  const { digest, onprogress, signal, failuresMax = failuresMaxDefault } = options
  let pieceBytes = pieceBytesMin
  let failures = 0
  const endAfter = (start) => Math.min(blob.size, start + pieceBytes)
  for (let end = null, isWhole = false; !isWhole;) {
    onprogress?.(offset, blob.size)
    let hashing
    try {
      if (end === null) {
        await digest?.moveTo(blob, offset)
        end = endAfter(offset)
        await digest?.advance(blob, end)
      }
      isWhole = end === blob.size
      const start = performance.now()
      const sent = gateway.fetch('PATCH', `${path}/content`, {
        body: blob.slice(offset, end), signal,
        headers: {
          'Upload-Offset': `${offset}`, 'Upload-Complete': isWhole ? '?1' : '?0', ...digest?.headers(offset, end, isWhole),
        },
      })
      // The processor has nothing else to do meanwhile.
      const next = endAfter(end)
      hashing = digest?.advance(blob, next)
      hashing?.catch(() => {})
      await sent
      await hashing
      const isQuick = performance.now() - start < 500
      pieceBytes = Math.min(partBytesMax, Math.max(pieceBytesMin, isQuick ? pieceBytes * 2 : pieceBytes / 2))
      offset = end
      end = next
      failures = 0
    } catch (error) {
      failures += 1
      if (signal?.aborted || !isTemporary(error) || failures > failuresMax) throw error
      await hashing
      await pause(backoff(failures - 1), signal)
      offset = await uploadedBytes(gateway, path, offset)
      if (offset === null) return
      end = null
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
