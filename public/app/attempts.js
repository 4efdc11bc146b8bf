// The actions of a page, and the problem of one that has failed.

export class Attempts {
  /** The problem of a failed action, until it is dismissed. */
  trouble = null

  constructor(changed) {
    this.changed = changed
  }

  /** Does what somebody has asked for, and shows what becomes of it if that is nothing. */
  async attempt(work) {
    try {
      return await work()
    } catch (problem) {
      this.fail(problem)
      return null
    }
  }

  fail(problem) {
    if (problem.name === 'AbortError') return
    this.trouble = problem
    this.changed()
  }
}
