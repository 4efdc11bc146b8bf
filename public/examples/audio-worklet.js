// The microphone's samples as numbers of 16 bits, in pieces of a sixteenth of a second.

const pieceSamples = 1024

registerProcessor('recorder', class extends AudioWorkletProcessor {
  #piece = new Int16Array(pieceSamples)
  #count = 0

  process([[samples = []]]) {
    for (const value of samples) {
      this.#piece[this.#count] = Math.max(-1, Math.min(1, value)) * 32_767
      this.#count += 1
      if (this.#count < pieceSamples) continue
      const bytes = new Uint8Array(this.#piece.buffer)
      this.port.postMessage(bytes, [bytes.buffer])
      this.#piece = new Int16Array(pieceSamples)
      this.#count = 0
    }
    return true
  }
})
