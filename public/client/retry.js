const retryDelayMin = 500
const retryDelayMax = 10_000

/**
 * Milliseconds until the next attempt: exponential backoff with a cap. Half of it is random (jitter), so that clients
 * that lost their gateway together do not reconnect together.
 */
export const backoff = (attempt) => Math.min(retryDelayMax, retryDelayMin * 2 ** attempt) * (0.5 + Math.random() / 2)

/** Waits; rejects with the reason of the signal once that aborts. */
export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const abort = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', abort, { once: true })
  })
}
