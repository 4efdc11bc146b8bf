// How names, sizes, times and states are said to people.

import { format, hasText, t } from './texts.js'

export const time = (text) => format('time').format(new Date(text))
export const second = (text) => format('second').format(new Date(text))
export const date = (text) => format('date').format(new Date(text))
export const dateAndTime = (text) => `${format('day').format(new Date(text))}, ${time(text)}`
export const milliseconds = (value) => t('charts.milliseconds', { number: value })
export const number = (value) => format('number').format(value)

function scaled(bytes) {
  const units = format('sizes')
  let unit = 0
  let value = bytes
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  return { value, unit }
}

export function size(bytes) {
  const { value, unit } = scaled(bytes)
  return format('sizes')[unit].format(value)
}

/** The part of a size in the unit of the whole, which is named once: 58.5 of 400 MB. */
export function sizeOf(part, whole) {
  const { unit } = scaled(whole)
  return t('size.of', { part: number(part / 1000 ** unit), whole: size(whole) })
}

/** The time left until then, or the empty text if there is none. */
export function timeLeft(text, now = Date.now()) {
  const seconds = Math.ceil((new Date(text) - now) / 1000)
  return seconds > 0 ? duration(seconds) : ''
}

export function duration(seconds) {
  if (seconds < 60) return format('seconds').format(Math.ceil(seconds))
  if (seconds < 7200) return format('minutes').format(Math.ceil(seconds / 60))
  if (seconds < 172_800) return format('hours').format(Math.round(seconds / 3600))
  return format('days').format(Math.round(seconds / 86_400))
}

/** The first of `count` names, and how many more there are. */
export function names(list, max = 3, count = list.length) {
  const shown = count > max ? [...list.slice(0, max), t('names.more', { count: count - max })] : list
  return format('list').format(shown)
}

/** One or two letters that stand for a name. */
export function initials(name) {
  const words = name.trim().split(/\s+/).map((word) => [...word].find((letter) => /[\p{L}\p{N}]/u.test(letter)))
  const letters = words.filter(Boolean)
  if (letters.length === 0) return '·'
  return (letters.length === 1 ? letters[0] : letters[0] + letters.at(-1)).toUpperCase()
}

/** The text of a word of the gateway, or the word itself where it is one of a later gateway. */
export const worded = (group, word, values) => (hasText(`${group}.${word}`) ? t(`${group}.${word}`, values) : word)

/** A problem as a sentence, by its rule, its reason or its type; the gateway's own sentence where none of these has a text. */
export function sentence(problem) {
  const kind = problem.kind ?? problem.type?.split('/').pop()
  const detail = complete(problem.message ?? problem.detail ?? String(problem))
  const key = [`problem.${kind}.${problem.rule}`, `reason.${problem.reason}`, `problem.${kind}`].find(hasText)
  return key ? complete(t(key, { detail })) : detail
}

/** A sentence with a beginning and an end; one with a colon goes on below. */
const complete = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…:]$/.test(text) ? '' : '.'}`

/** Why a member is not connected; the gateway's own sentence for a reason of a later one. */
export const why = ({ reason, detail = reason }) => (hasText(`reason.${reason}`) ? t(`reason.${reason}`) : detail ?? '')

/** The time alone, where it is of today. */
export const timeOrDate = (text) =>
  (new Date(text).toDateString() === new Date().toDateString() ? time(text) : dateAndTime(text))

/** Since when somebody is away; the empty text for who is here. */
export const away = (since) => (since ? t('member.away', { time: timeOrDate(since) }) : '')

export function memberState(member) {
  if (member.state === 'connected' && member.suspended) return t('member.suspended')
  if (member.state === 'connected' && member.awaySince) return away(member.awaySince)
  if (member.state === 'notConnected' && member.detail) return t('member.notConnectedWhy', { detail: why(member) })
  return worded('member', member.state)
}

/** A round trip, without parts of a millisecond: those change with each look. */
export const roundTrip = (value) => (value < 1 ? `<${milliseconds(1)}` : milliseconds(Math.round(value)))

/** How somebody is reached (`here` is on this gateway), as far as it is known, as a `short` text and a `long` one: `Wi-Fi · 3 ms`, and what the time is. */
export function reached({ medium, roundTripMilliseconds: trip } = {}) {
  const [name, time] = [medium && worded('medium', medium), trip !== undefined && roundTrip(trip)]
  return { short: joined(name, time), long: joined(name, time && t('map.roundTrip', { time })) }
}

/** Texts joined on one line, with a dot between. */
export const joined = (...texts) => texts.filter(Boolean).join(' · ')
