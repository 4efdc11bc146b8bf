// Requests to this gateway, with what this browser may do: each of the contract, its fields filled in, and as a line for curl.

import { bare, t } from './example.js'

const root = new URL('..', import.meta.url)
const find = (id) => document.querySelector(`#${id}`)
const make = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties)
  element.append(...children)
  return element
}

let gateway = bare()
const contract = await gateway.get('/openapi.json')
const resolve = (json) => (json?.$ref ? json.$ref.slice(2).split('/').reduce((at, name) => at[name], contract) : json)

/** The types of bodies that can be typed. */
const types = ['application/json', 'text/plain', 'application/octet-stream']
/** All but WebSockets. */
const operations = Object.entries(contract.paths).flatMap(([path, methods]) => {
  const shared = methods.parameters ?? []
  return Object.entries(methods).filter(([name]) => name !== 'parameters').map(([method, operation]) => ({
    method: method.toUpperCase(), path, ...operation,
    parameters: [...shared, ...(operation.parameters ?? [])].map(resolve),
    body: resolve(operation.requestBody)?.content,
  }))
}).filter(({ path }) => !path.endsWith('/socket'))

const choice = find('operation')
for (const { name } of contract.tags) {
  const options = operations.map((operation, index) => [operation, index]).filter(([operation]) => operation.tags?.includes(name))
    .map(([{ method, path, summary }, value]) => make('option', { value, textContent: `${method} ${path} · ${summary}` }))
  if (options.length > 0) choice.append(make('optgroup', { label: name }, ...options))
}

/** The one that the reference links to. */
function choose() {
  const place = (id) => operations.findIndex(({ operationId }) => operationId === id)
  choice.value = Math.max(place(location.hash.slice(1)), place('getGateway'))
}

/** With a token that was typed, or as this browser. */
function use() {
  const token = find('token').value.trim()
  gateway = bare(token)
  find('status').textContent = t(token ? 'request.withToken' : gateway.csrf ? 'request.asBrowser' : 'request.notJoined')
}

const current = () => operations[choice.value]
const typeOf = (body) => types.find((type) => type in body)
let stop = new AbortController()
const asked = () => [...find('parameters').querySelectorAll('input')].filter((input) => input.value !== '')

function show() {
  const { parameters, body } = current()
  find('parameters').replaceChildren(...parameters.filter(({ in: place, required }) => place !== 'header' || required).map((parameter) => make('div', {},
    make('label', {
      htmlFor: `of-${parameter.name}`, textContent: parameter.required ? parameter.name : t('request.optional', { name: parameter.name }),
    }),
    make('input', {
      id: `of-${parameter.name}`, name: parameter.name, required: Boolean(parameter.required), autocomplete: 'off', spellcheck: false,
    }))))
  for (const { name, in: place } of parameters) if (find(`of-${name}`)) find(`of-${name}`).dataset.place = place
  const isJSON = body && typeOf(body) === types[0]
  const example = isJSON && (body[types[0]].example ?? resolve(body[types[0]].schema)?.examples?.[0] ?? {})
  find('json').value = isJSON ? JSON.stringify(example, null, 2) : ''
  find('body').hidden = !body
  find('answer').hidden = true
  stop.abort()
  write()
}

function address() {
  let path = current().path
  const query = new URLSearchParams()
  for (const { name, value, dataset } of asked()) {
    if (dataset.place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value))
    else if (dataset.place === 'query') query.append(name, value)
  }
  return query.size > 0 ? `${path}?${query}` : path
}

const headers = () => Object.fromEntries(asked().filter(({ dataset }) => dataset.place === 'header').map(({ name, value }) => [name, value]))

/** As one would type it, with a token in the place of this browser's cookie. */
function write() {
  const { method, body, security } = current()
  const quoted = (text) => `'${text.replaceAll('\'', '\'\\\'\'')}'`
  find('curl').textContent = [
    'curl', method !== 'GET' && `-X ${method}`, security?.length > 0 && '-H "Authorization: Bearer $TOKEN"',
    ...Object.entries(headers()).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    body && `-H 'Content-Type: ${typeOf(body)}' --data-binary ${quoted(find('json').value.replace(/\s*\n\s*/g, ' '))}`,
    quoted(root.href.replace(/\/$/, '') + address()),
  ].filter(Boolean).join(' ')
}

async function send(event) {
  event.preventDefault()
  stop.abort()
  stop = new AbortController()
  const { signal } = stop
  const tell = (status, text) => {
    if (signal.aborted) return
    find('answer').hidden = false
    find('code').textContent = status
    find('text').textContent = text
  }
  try {
    const response = await gateway.fetch(current().method, address(), { ...content(), attempts: 1, signal })
    const status = `${response.status} ${response.statusText}`
    let text = ''
    // A stream is shown as it comes.
    for await (const part of parts(response)) tell(status, (text += part))
    tell(status, /json/.test(response.headers.get('Content-Type') ?? '') ? JSON.stringify(JSON.parse(text), null, 2) : text)
  } catch (problem) {
    tell(problem.title ?? t('request.notSent'), problem.message)
  }
}

/** The body as it was typed. */
function content() {
  const { body } = current()
  if (!body) return { headers: headers() }
  const [type, text] = [typeOf(body), find('json').value]
  return type === types[0] ? { json: JSON.parse(text), headers: headers() } : { body: text, headers: { 'Content-Type': type, ...headers() } }
}

async function * parts({ body }) {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let part = await reader?.read(); part && !part.done; part = await reader.read()) yield part.value
}

choice.onchange = show
find('token').oninput = use
find('form').oninput = write
find('form').onsubmit = send
addEventListener('hashchange', () => {
  choose()
  show()
})
use()
choose()
show()
