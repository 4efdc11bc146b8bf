// Making elements, and keeping lists of them: text goes in as text, and never as markup.

const svgSpace = 'http://www.w3.org/2000/svg'

/**
 * An element with attributes and children. `on…` are listeners, `class` and the rest attributes; false and null leave
 * one out.
 */
export function h(tag, attributes = {}, ...children) {
  return dress(document.createElement(tag), attributes, children)
}

/** An SVG element, with attributes and children as those of `h`. */
export function svg(tag, attributes = {}, ...children) {
  return dress(document.createElementNS(svgSpace, tag), attributes, children)
}

export const icon = (path) => svg('svg', { viewBox: '0 0 24 24', class: 'icon', 'aria-hidden': 'true' }, svg('path', { d: path }))

function dress(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else set(element, name, value)
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false))
  return element
}

/** Changes an attribute, only where it differs. */
export function set(element, name, value) {
  if (value === false || value === null || value === undefined) return element.removeAttribute(name)
  const text = value === true ? '' : String(value)
  if (element.getAttribute(name) !== text) element.setAttribute(name, text)
}

/** Changes a text, only where it differs: what stays is not read out again. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text
}

export function show(element, isShown) {
  if (element.hidden === isShown) element.hidden = !isShown
}

/** A function that does the work only where one of its values is another one than in the call before. */
export function whenChanged(work) {
  let before = null
  return (...values) => {
    if (before?.length === values.length && values.every((value, place) => Object.is(value, before[place]))) return
    before = values
    work(...values)
  }
}

/**
 * Keeps one part for each item in the element, in the items' order. `make(item)` gives a part: its `element`, and
 * where it changes, `update(item)`. What stays is not moved, and so keeps its focus.
 */
export function list(element, make, key = (item) => item.id) {
  const parts = new Map()
  return (items) => {
    const wanted = new Set(items.map(key))
    for (const [id, part] of parts) {
      if (wanted.has(id)) continue
      part.element.remove()
      part.removed?.()
      parts.delete(id)
    }
    let place = element.firstChild
    for (const item of items) {
      const id = key(item)
      let part = parts.get(id)
      if (!part) parts.set(id, (part = make(item)))
      part.update?.(item)
      if (part.element === place) place = place.nextSibling
      else element.insertBefore(part.element, place)
    }
  }
}
