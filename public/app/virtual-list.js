// A list of many entries of which only those around the window are elements: the others are room above and below.

import { list } from './dom.js'

/** More than a screen on each side, at the least height of an entry. */
const drawnMax = 90
/** Of an entry that was not drawn yet, until some were. */
const heightByDefault = 48

/**
 * Keeps the parts of the entries near the window of `scroller` in `element`, as `list` does. `draw(entries, isAtEnd)` stays
 * at the end, or where the reader is: what comes or goes elsewhere moves nothing. `prepare(drawn, before)` makes of the drawn entries, and the one
 * before them, what their parts are updated with.
 */
export function virtualList(scroller, element, { make, key, prepare }) {
  const drawParts = list(element, make, key)
  /** In pixels, by key, of those that were drawn at this width. */
  const heights = new Map()
  let width = 0
  let measured = 0
  let entries = []
  let start = 0

  const estimate = () => (heights.size ? measured / heights.size : heightByDefault)

  function remember(name, height) {
    measured += height - (heights.get(name) ?? 0)
    heights.set(name, height)
  }

  /** Each drawn element reaches to the beginning of the next one. */
  function measure() {
    const drawn = element.children
    const end = element.clientHeight - parseFloat(getComputedStyle(element).paddingBlockEnd)
    for (let place = 0; place < drawn.length; place += 1) {
      const next = drawn[place + 1]?.offsetTop ?? element.offsetTop + end
      remember(key(entries[start + place]), next - drawn[place].offsetTop)
    }
  }

  /** The first drawn entry that reaches into the window, and how far below its upper edge it begins. */
  function anchor() {
    const top = scroller.getBoundingClientRect().top
    for (let place = 0; place < element.children.length; place += 1) {
      const box = element.children[place].getBoundingClientRect()
      if (box.bottom > top) return { name: key(entries[start + place]), offset: box.top - top }
    }
    return null
  }

  /** The first entry to draw so that what is at `scrollTop` lies in the middle of the drawn ones. */
  function firstFor(scrollTop) {
    let [place, sum] = [0, 0]
    const typical = estimate()
    while (place < entries.length - 1) {
      const height = heights.get(key(entries[place])) ?? typical
      if (sum + height > scrollTop) break
      sum += height
      place += 1
    }
    const visible = Math.ceil(scroller.clientHeight / typical)
    return Math.max(0, Math.min(place - Math.floor((drawnMax - visible) / 2), entries.length - drawnMax))
  }

  function place(isAtEnd, kept) {
    start = isAtEnd ? Math.max(0, entries.length - drawnMax) : firstFor(Math.max(0, scroller.scrollTop - element.offsetTop))
    const end = Math.min(entries.length, start + drawnMax)
    drawParts(prepare(entries.slice(start, end), entries[start - 1]))
    const typical = estimate()
    const room = (from, to) => {
      let sum = 0
      for (let at = from; at < to; at += 1) sum += heights.get(key(entries[at])) ?? typical
      return `${sum}px`
    }
    element.style.paddingBlockStart = room(0, start)
    element.style.paddingBlockEnd = room(end, entries.length)
    if (isAtEnd) scroller.scrollTop = scroller.scrollHeight
    else if (kept) {
      const index = entries.findIndex((entry) => key(entry) === kept.name) - start
      const now = element.children[index]?.getBoundingClientRect().top
      if (now !== undefined) scroller.scrollTop += now - scroller.getBoundingClientRect().top - kept.offset
    }
    measure()
  }

  return {
    draw(all, isAtEnd) {
      if (scroller.clientWidth !== width) {
        width = scroller.clientWidth
        heights.clear()
        measured = 0
      }
      const kept = isAtEnd ? null : anchor()
      entries = all
      place(isAtEnd, kept)
    },
    /** After the reader has moved. */
    moved() { if (entries.length > drawnMax) place(false, anchor()) },
    clear() {
      heights.clear()
      measured = 0
      entries = []
      start = 0
      drawParts([])
    },
  }
}
