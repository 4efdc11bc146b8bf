// A list of many entries of which only those around the window are elements: the others are room above and below.
//
// Drawing writes, and asks the browser for no measure; the browser says when it has laid out what was drawn, and all that is
// drawn is measured then, once, in the same frame.

import { list } from './dom.js'

/** A shorter list is seen at a glance, and has no search. */
export const searchedMin = 8
/** The height of a person's row of two lines, in pixels. */
export const personHeight = 60

const drawnMin = 30
const drawnMax = 150
/** The height of an entry, until some were drawn. */
const heightByDefault = 48

/**
 * Keeps the parts of the entries near the window of `scroller` in `element`, as `list` does; an entry that was not drawn yet
 * is as high as the others, or `entryHeight`. `draw(entries, isAtEnd)` stays at the end, or where the reader is: what comes or
 * goes elsewhere moves nothing. `prepare(drawn, before)` makes of the drawn entries, and the one before them, what their parts
 * are updated with. `resized` is called when the window has another size.
 */
export function virtualList(scroller, element, { make, key, prepare, resized, entryHeight = heightByDefault }) {
  const drawParts = list(element, make, key)
  /** In pixels, by key, of those that were drawn. */
  const heights = new Map()
  let sum = 0
  /** The size of the window; nothing is drawn while it is zero. */
  let [width, height] = [0, 0]
  /** At which the heights were measured. */
  let measuredWidth = 0
  let entries = []
  let drawn = []
  let start = 0
  let roomAbove = 0
  /** Whether `roomAbove` is made of heights that are not known any more. */
  let isStale = false
  let roomBelow = 0
  let isAtEnd = true

  /** The mean height, a whole number: browsers round scroll positions. */
  const typical = () => (heights.size ? Math.round(sum / heights.size) : entryHeight)
  const heightOf = (entry, otherwise) => heights.get(key(entry)) ?? otherwise

  function forget() {
    heights.clear()
    sum = 0
    isStale = true
  }

  /** Each drawn element reaches to the beginning of the next one. */
  function measure() {
    const elements = element.children
    if (elements.length !== drawn.length || drawn.length === 0) return
    const tops = Array.from(elements, (one) => one.offsetTop)
    tops.push(element.offsetTop + element.clientHeight - roomBelow)
    drawn.forEach((entry, place) => {
      const name = key(entry)
      const now = tops[place + 1] - tops[place]
      const before = heights.get(name)
      if (now === before) return
      sum += now - (before ?? 0)
      heights.set(name, now)
    })
    // Entries that are gone are not asked for any more.
    if (heights.size > 2 * entries.length + drawnMax) forget()
  }

  const observer = new ResizeObserver((changes) => {
    for (const { target, contentRect } of changes) {
      if (target !== scroller || (contentRect.width === width && contentRect.height === height)) continue
      ;({ width, height } = contentRect)
      if (height === 0) continue
      if (width !== measuredWidth) forget()
      measuredWidth = width
      resized()
    }
    if (height === 0) return
    if (isAtEnd) scroller.scrollTop = scroller.scrollHeight
    measure()
  })
  observer.observe(scroller)
  observer.observe(element, { box: 'border-box' })

  /**
   * The first drawn entry that reaches into the window, and how far below its upper edge it begins. The beginning of all is
   * none: what comes before it is seen to come.
   */
  function anchor() {
    const top = scroller.getBoundingClientRect().top
    for (const [place, one] of [...element.children].entries()) {
      const box = one.getBoundingClientRect()
      if (box.bottom <= top) continue
      return start + place === 0 && box.top >= top ? null : { name: key(drawn[place]), offset: box.top - top }
    }
    return null
  }

  /** The first entry to draw so that what is at `scrollTop` lies in the middle of `count` drawn ones. */
  function firstFor(scrollTop, visible, count) {
    let [place, above] = [0, 0]
    const otherwise = typical()
    while (place < entries.length - 1) {
      above += heightOf(entries[place], otherwise)
      if (above > scrollTop) break
      place += 1
    }
    return Math.max(0, Math.min(place - Math.floor((count - visible) / 2), entries.length - count))
  }

  function place() {
    const otherwise = typical()
    const visible = Math.ceil(height / otherwise)
    // A screen more on each side; there is none below the end.
    const count = Math.max(drawnMin, Math.min(drawnMax, visible * (isAtEnd ? 2 : 3)))
    const next = isAtEnd
      ? Math.max(0, entries.length - count) : firstFor(Math.max(0, scroller.scrollTop - element.offsetTop), visible, count)
    // At the end, what was above still is, unless something came or went there: then another entry is where drawing began. The
    // heights of entries that are drawn on the way up become known, and so all of them are counted anew then.
    const isSame = isAtEnd && !isStale && drawn.length > 0 && entries[start] !== undefined && key(entries[start]) === key(drawn[0])
    if (!isSame || next < start) start = roomAbove = 0
    isStale = !isAtEnd
    for (; start < next; start += 1) roomAbove += heightOf(entries[start], otherwise)
    drawn = entries.slice(start, start + count)
    drawParts(prepare(drawn, entries[start - 1]))
    roomBelow = 0
    for (let at = start + count; at < entries.length; at += 1) roomBelow += heightOf(entries[at], otherwise)
    element.style.paddingBlockStart = `${roomAbove}px`
    element.style.paddingBlockEnd = `${roomBelow}px`
  }

  /** Keeps the visible entries in place, whatever the height above has become. */
  function restore({ name, offset }) {
    const now = element.children[drawn.findIndex((entry) => key(entry) === name)]?.getBoundingClientRect().top
    if (now !== undefined) scroller.scrollTop += now - scroller.getBoundingClientRect().top - offset
  }

  return {
    get isShown() { return height > 0 },
    /** The size of the window, for callers that draw anew when it changes. */
    get size() { return `${width} ${height}` },
    /** The place among all entries of the first that is drawn. */
    get start() { return start },
    draw(all, staysAtEnd) {
      entries = all
      isAtEnd = staysAtEnd
      if (height === 0) return
      const kept = isAtEnd ? null : anchor()
      place()
      if (isAtEnd) return
      if (kept) restore(kept)
      measure()
    },
    /** After the reader has moved. */
    moved() {
      isAtEnd = false
      if (drawn.length < entries.length) this.draw(entries, false)
    },
    clear() {
      forget()
      entries = []
      drawn = []
      drawParts([])
    },
  }
}
