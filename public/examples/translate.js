// A phrase book: a phrase is sent as its key and its number, and each reader sees it in a language of their own.
//
// No machine translates. The phrases are a table, a row of each catalogue in `texts/`, with the plurals of its language.

import { enter, language, languages, parse, speak, t } from './example.js'

const phrases = ['hello', 'yes', 'no', 'thanks', 'help', 'where', 'wait', 'ready', 'late', 'people']
/** How many phrases stay on the page. */
const saidMax = 50

const find = (id) => document.querySelector(`#${id}`)
const make = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties)
  element.append(...children)
  return element
}
const [choice, number, log] = ['language', 'number', 'said'].map(find)
const word = (phrase, count) => t(`phrase.${phrase}`, { count })
/** The phrases that were said, the latest first. */
const said = []

const buttons = phrases.map((phrase) => make('button', { disabled: true, onclick: () => say(phrase) }))
find('phrases').append(...buttons)
choice.append(...Object.entries(languages).map(([value, textContent]) => make('option', { value, textContent, lang: value })))
choice.value = language
// This page alone speaks it, so that two tabs can be two people.
choice.onchange = async () => {
  await speak(choice.value)
  write()
}
number.oninput = write
write()

const session = await enter('translate')
for (const button of buttons) button.disabled = false
session.on('message', (message) => {
  const one = parse(message.text)
  if (isPhrase(one)) hear(message.displayName, one)
})

/** A page that knows more phrases sends some that this one does not know. */
function isPhrase(one) {
  return phrases.includes(one?.phrase) && Number.isSafeInteger(one.count) && one.count > 0 && one.count < 100
    && Object.hasOwn(languages, one.language)
}

function chosenCount() {
  return number.checkValidity() && number.value ? number.valueAsNumber : 1
}

function say(phrase) {
  const one = { phrase, count: chosenCount(), language }
  // To nobody there is nothing to say.
  session.send(one).catch(() => {})
  hear(null, one)
}

/** `name` is null for this page's own. */
function hear(name, { phrase, count, language: spoken }) {
  const [by, text] = [make('strong', {}), make('span', {})]
  const from = make('span', { className: 'hint', textContent: languages[spoken], lang: spoken })
  const element = make('p', { className: 'phrase' }, by, from, text)
  said.unshift({ element, write: () => {
    by.textContent = name ?? t('translate.own')
    text.textContent = word(phrase, count)
  } })
  for (const old of said.splice(saidMax)) old.element.remove()
  log.prepend(element)
  said[0].write()
}

/** All of it in the language of the reader, also when that has changed. */
function write() {
  buttons.forEach((button, index) => { button.textContent = word(phrases[index], chosenCount()) })
  for (const one of said) one.write()
}
