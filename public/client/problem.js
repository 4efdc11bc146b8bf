/** An error of the gateway, or of the way to it. Its message is a sentence that says what to do. */
export class Problem extends Error {
  constructor(problem, headers) {
    super(problem.detail ?? problem.title ?? 'The gateway answered in a way that nobody understands.')
    this.name = 'Problem'
    /** Such as 'notConnected'; 'offline' if there was no answer at all, 'gap' if events were missed. */
    this.kind = (problem.type ?? '').split('/').pop() || 'unknown'
    this.title = problem.title
    this.status = problem.status ?? 0
    /** The part of the request that is wrong, the rule that it breaks, and the rule's limit, if they are known. */
    this.field = problem.field
    this.rule = problem.rule
    this.limit = problem.limit
    /** Why it is 'unavailable', if there is a name for that: 'queueFull' while a member is behind. */
    this.reason = problem.reason
    /** Seconds after which another attempt makes sense. */
    this.retryAfter = problem.retryAfter
    this.headers = headers
  }

  static offline(detail = 'The gateway does not answer: it may have stopped, or the network between is down.') {
    return new Problem({ type: '/problems/offline', title: 'No answer', detail })
  }
}

/** A problem that this client finds by itself. */
export const problem = (kind, title, detail, more) => new Problem({ type: `/problems/${kind}`, title, detail, ...more })

/** Whether a later attempt may succeed: there was no answer, or the gateway is busy, or an earlier upload is not over yet. */
export function isTemporary(error) {
  if (!(error instanceof Problem)) return false
  // Content with another digest than was announced stays so; a part of it may have been damaged on its way.
  if (error.rule === 'digest' && error.field !== 'Content-Digest') return false
  return ['offline', 'tooMany', 'unavailable', 'conflict'].includes(error.kind)
}
