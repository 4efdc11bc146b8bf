// The timeline of a session: messages and files in the order of time, kept in order as entries come, change and go.

/** Entries have a `key` and a `time` in milliseconds; those that nobody else has yet are last, at the time `Infinity`. */
export class Timeline {
  /** In order. It is the same array each time. */
  entries = []
  /** Grows with each change. */
  version = 0
  #byKey = new Map()

  get(key) { return this.#byKey.get(key) }

  /** Adds an entry, or puts it in the place of the one with its key. */
  put(entry) {
    this.version += 1
    const before = this.#byKey.get(entry.key)
    this.#byKey.set(entry.key, entry)
    if (before?.time === entry.time) {
      this.entries[this.#placeOf(before)] = entry
      return
    }
    if (before) this.entries.splice(this.#placeOf(before), 1)
    this.entries.splice(this.#end(entry.time), 0, entry)
  }

  delete(key) {
    const entry = this.#byKey.get(key)
    if (!entry) return
    this.version += 1
    this.#byKey.delete(key)
    this.entries.splice(this.#placeOf(entry), 1)
  }

  /** Behind all entries of that time and before: most of what comes is the latest. */
  #end(time) {
    let [low, high] = [0, this.entries.length]
    if (high === 0 || this.entries[high - 1].time <= time) return high
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.entries[middle].time <= time) low = middle + 1
      else high = middle
    }
    return low
  }

  #placeOf(entry) {
    let place = this.#end(entry.time) - 1
    while (this.entries[place] !== entry) place -= 1
    return place
  }
}
