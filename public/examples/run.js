// Runs the examples on the page of the client (/docs/js), as they are printed there: what they import as `vicinity-client` is this
// module. Their gateway is this one, where this browser has joined already, and each run is a peer of its own.

import { settings } from '../app/settings.js'
import { memoryStorage, Vicinity as Client } from '../vicinity.js'

export * from '../vicinity.js'

const root = new URL('..', import.meta.url).href
const { csrf } = settings()
const output = document.querySelector('#output')
const running = new Set()
/** How many gateways the examples have made, how many examples were run, and how often all were stopped. */
let [made, runs, stops] = [0, 0, 0]

export class Vicinity extends Client {
  #number = (made += 1)
  #peers = []

  constructor() {
    super(root, { csrf, storage: memoryStorage() })
    running.add(this)
  }

  async pair() {}

  async peer({ name }) {
    const peer = await super.peer({ name: `${name} ${this.#number}`, lifetime: 'connection', reuse: false })
    this.#peers.push(peer)
    return peer
  }

  async end() {
    running.delete(this)
    for (const { id } of this.#peers) await this.delete(`/v1/peers/${id}`, { keepalive: true }).catch(() => {})
    this.close()
  }
}

const write = (value) => (typeof value === 'string' ? value : value instanceof Error ? value.message : JSON.stringify(value))
const { log } = console
console.log = (...values) => {
  log(...values)
  output.append(`${values.map(write).join(' ')}\n`)
  output.scrollTop = output.scrollHeight
}

async function stop() {
  stops += 1
  for (const gateway of [...running]) await gateway.end()
}

for (const button of document.querySelectorAll('[data-run]')) {
  button.disabled = !csrf
  button.onclick = () => {
    runs += 1
    const before = stops
    // A module runs once at each address. One that is stopped fails in what it waits for.
    import(`${button.dataset.run}#${runs}`).catch((error) => stops === before && console.log(error))
  }
}
document.querySelector('#stop').onclick = () => {
  stop()
  output.textContent = ''
}
document.querySelector('#join').hidden = Boolean(csrf)
addEventListener('pagehide', stop)
