// The texts that people see. Each language is a catalogue in `texts/`; the modules name its keys.
//
// A text has places for values in braces, such as `{name}`. One that depends on a number is an object of the plural
// categories of its language, of which the value `count` chooses one.

/** By their own names. */
export const languages = { en: 'English', de: 'Deutsch' }
const languageByDefault = 'en'

let catalogue = {}
let formats = {}
let plurals

/** The language of the page: set by `useLanguage`. */
export let language = languageByDefault

/** The first of the browser's languages that there is a catalogue for. */
export function languageOfBrowser(preferred = navigator.languages) {
  const known = preferred.map((tag) => tag.toLowerCase().split('-')[0]).find((tag) => tag in languages)
  return known ?? languageByDefault
}

/** Loads the catalogue of a language, which `load` finds, and writes numbers and times in the same one from then on. */
export async function useLanguage(chosen, load = (name) => import(`./texts/${name}.js`)) {
  const wanted = chosen in languages ? chosen : languageOfBrowser()
  const texts = await load(wanted)
  language = wanted
  catalogue = texts.default
  plurals = new Intl.PluralRules(wanted)
  // The country of the browser decides on clocks, where it speaks this language.
  const locale = navigator.languages.find((tag) => tag.toLowerCase().split('-')[0] === wanted) ?? wanted
  const unit = (name, unitDisplay = 'short', maximumFractionDigits = 1) =>
    new Intl.NumberFormat(locale, { style: 'unit', unit: name, unitDisplay, maximumFractionDigits })
  formats = {
    day: new Intl.DateTimeFormat(locale, { weekday: 'long', day: 'numeric', month: 'long' }),
    date: new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }),
    time: new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' }),
    second: new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', second: '2-digit' }),
    number: new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }),
    list: new Intl.ListFormat(locale, { style: 'long', type: 'conjunction' }),
    sizes: [unit('byte', 'long', 0), ...['kilobyte', 'megabyte', 'gigabyte', 'terabyte'].map((name) => unit(name))],
    seconds: unit('second'), minutes: unit('minute'), hours: unit('hour'), days: unit('day', 'long'),
  }
  document.documentElement.lang = wanted
}

/** How the language writes numbers, sizes and times. */
export const format = (name) => formats[name]

/** The text of a key, with its values. */
export function t(key, values = {}) {
  let text = catalogue[key]
  if (typeof text === 'object') text = text[plurals.select(values.count)] ?? text.other
  if (text === undefined) throw new Error(`no text ${key}`)
  return text.replace(/\{(\w+)\}/g, (_, name) =>
    (typeof values[name] === 'number' ? formats.number.format(values[name]) : values[name] ?? ''))
}

/** Whether there is a text of this key: for words of the gateway that a later one may add to. */
export const hasText = (key) => key in catalogue
