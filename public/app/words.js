// How things are said to people.

const dayFormat = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' })
const timeFormat = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const secondFormat = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const numberFormat = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 })

export const time = (text) => timeFormat.format(new Date(text))
export const second = (text) => secondFormat.format(new Date(text))
export const dateAndTime = (text) => `${dayFormat.format(new Date(text))}, ${time(text)}`

export function size(bytes) {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${numberFormat.format(value)} ${units[unit]}`
}

/** What is left until then, or the empty text where nothing is. */
export function timeLeft(text, now = Date.now()) {
  const seconds = Math.ceil((new Date(text) - now) / 1000)
  if (seconds <= 0) return ''
  if (seconds < 60) return `${seconds} s`
  if (seconds < 7200) return `${Math.ceil(seconds / 60)} min`
  return `${Math.round(seconds / 3600)} h`
}

export function names(list, max = 3) {
  if (list.length > max) return `${list.slice(0, max).join(', ')} and ${list.length - max} more`
  return list.length < 2 ? list.join('') : `${list.slice(0, -1).join(', ')} and ${list.at(-1)}`
}

/** So many of something that has an s where it is not one. */
export const counted = (count, thing) => `${count} ${thing}${count === 1 ? '' : 's'}`

/** One or two letters that stand for a name. */
export function initials(name) {
  const words = name.trim().split(/\s+/).map((word) => [...word].find((letter) => /[\p{L}\p{N}]/u.test(letter)))
  const letters = words.filter(Boolean)
  if (letters.length === 0) return '·'
  return (letters.length === 1 ? letters[0] : letters[0] + letters.at(-1)).toUpperCase()
}

const sentences = {
  declined: 'said no', timedOut: 'did not answer in time', cancelled: 'was not asked any more',
  failed: 'could not be reached',
}

export const invitationEnd = (state) => sentences[state] ?? state

/** A problem as a sentence with a beginning and an end. */
export function sentence(problem) {
  const text = problem.message ?? problem.detail ?? String(problem)
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? '' : '.'}`
}

export const noName = 'Type your name: at least one letter, digit or sign that can be seen.'

/** Since when somebody is away; the empty text for who is here. */
export function away(since) {
  if (!since) return ''
  const isToday = new Date(since).toDateString() === new Date().toDateString()
  return `Away since ${isToday ? time(since) : dateAndTime(since)}`
}

const memberStates = { connected: 'Connected', connecting: 'Connecting …', notConnected: 'Not connected' }

export function memberState(member) {
  if (member.state === 'connected' && member.suspended) return 'Not answering; waiting for it'
  if (member.state === 'connected' && member.awaySince) return away(member.awaySince)
  if (member.state === 'notConnected' && member.detail) return `Not connected: ${member.detail}`
  return memberStates[member.state] ?? member.state
}

const roleWords = {
  viewer: 'looks on', member: 'takes part', operator: 'lets others in', admin: 'may do everything',
}

export const role = (name) => `${name}: ${roleWords[name] ?? ''}`
