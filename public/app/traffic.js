// Recent byte rates to and from each person, as far as this page sees them.

/** The time constant of the average, in seconds. */
const memory = 3

export class Traffic {
  #rates = new Map()
  #stops = []
  #rooms = new Set()

  /** Counts the traffic of these sessions from now on, until `stop`. */
  watch(rooms) {
    for (const room of rooms) {
      if (this.#rooms.has(room)) continue
      this.#rooms.add(room)
      const said = ({ item, before }) => before || this.#said(room, item)
      this.#stops.push(
        room.messages.on('put', said), room.datagrams.on('datagram', (message) => this.#said(room, message)),
        room.resources.on('put', ({ item, before }) => this.add(item.from ?? item.to, item.bytes - (before?.bytes ?? item.bytes))))
    }
  }

  stop() {
    for (const stop of this.#stops) stop()
    this.#stops = []
    this.#rooms.clear()
    this.#rates.clear()
  }

  #said(room, { from, to, size = 0 }) {
    const isMine = from === room.session?.peer
    for (const peer of isMine ? (to?.length ? to : room.connected.map((one) => one.peer)) : [from]) this.add(peer, size)
  }

  add(peer, bytes, now = performance.now()) {
    if (bytes > 0) this.#rates.set(peer, { rate: this.rate(peer, now) + bytes / memory, at: now })
  }

  /** The rate in bytes a second. */
  rate(peer, now = performance.now()) {
    const known = this.#rates.get(peer)
    if (!known) return 0
    const rate = known.rate * Math.exp((known.at - now) / 1000 / memory)
    if (rate >= 1) return rate
    this.#rates.delete(peer)
    return 0
  }
}
