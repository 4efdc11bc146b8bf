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

/** Those whose body is JSON, or nothing, and whose answer ends. */
const operations = Object.entries(contract.paths).flatMap(([path, methods]) => {
  const shared = methods.parameters ?? []
  return Object.entries(methods).filter(([name]) => name !== 'parameters').map(([method, operation]) => ({
    method: method.toUpperCase(), path, ...operation,
    parameters: [...shared, ...(operation.parameters ?? [])].map(resolve),
    body: resolve(operation.requestBody)?.content,
  }))
}).filter(({ body, path }) => (!body || body['application/json']) && !path.endsWith('/socket') && !path.endsWith('/bytes'))

const choice = find('operation')
for (const { name } of contract.tags) {
  const options = operations.map((operation, index) => [operation, index]).filter(([operation]) => operation.tags?.includes(name))
    .map(([{ method, path, summary }, value]) => make('option', { value, textContent: `${method} ${path} · ${summary}` }))
  if (options.length > 0) choice.append(make('optgroup', { label: name }, ...options))
}
choice.value = operations.findIndex(({ operationId }) => operationId === 'getGateway')

/** With a token that was typed, or as this browser. */
function use() {
  const token = find('token').value.trim()
  gateway = bare(token)
  find('status').textContent = t(token ? 'request.withToken' : gateway.csrf ? 'request.asBrowser' : 'request.notJoined')
}

const current = () => operations[choice.value]
const asked = () => [...find('parameters').querySelectorAll('input')].filter((input) => input.value !== '')

function show() {
  const { parameters, body } = current()
  find('parameters').replaceChildren(...parameters.filter(({ in: place }) => place !== 'header').map((parameter) => make('div', {},
    make('label', {
      htmlFor: `of-${parameter.name}`, textContent: parameter.required ? parameter.name : t('request.optional', { name: parameter.name }),
    }),
    make('input', {
      id: `of-${parameter.name}`, name: parameter.name, required: Boolean(parameter.required), autocomplete: 'off', spellcheck: false,
    }))))
  for (const { name, in: place } of parameters) if (find(`of-${name}`)) find(`of-${name}`).dataset.place = place
  const example = body?.['application/json'].example ?? resolve(body?.['application/json'].schema)?.examples?.[0] ?? {}
  find('json').value = body ? JSON.stringify(example, null, 2) : ''
  find('body').hidden = !body
  find('answer').hidden = true
  write()
}

function address() {
  let path = current().path
  const query = new URLSearchParams()
  for (const { name, value, dataset } of asked()) {
    if (dataset.place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value))
    else query.append(name, value)
  }
  return query.size > 0 ? `${path}?${query}` : path
}

/** As one would type it, with a token in the place of this browser's cookie. */
function write() {
  const { method, body, security } = current()
  const quoted = (text) => `'${text.replaceAll('\'', '\'\\\'\'')}'`
  find('curl').textContent = [
    'curl', method !== 'GET' && `-X ${method}`, security?.length > 0 && '-H "Authorization: Bearer $TOKEN"',
    body && `-H 'Content-Type: application/json' -d ${quoted(find('json').value.replace(/\s*\n\s*/g, ' '))}`,
    quoted(root.href.replace(/\/$/, '') + address()),
  ].filter(Boolean).join(' ')
}

async function send(event) {
  event.preventDefault()
  const { method, body } = current()
  let [status, text] = ['', '']
  try {
    const json = body ? JSON.parse(find('json').value) : undefined
    const response = await gateway.fetch(method, address(), { json, attempts: 1 })
    status = `${response.status} ${response.statusText}`
    text = await response.text()
    if (/json/.test(response.headers.get('Content-Type') ?? '')) text = JSON.stringify(JSON.parse(text), null, 2)
  } catch (problem) {
    status = problem.title ?? t('request.notSent')
    text = problem.message
  }
  find('answer').hidden = false
  find('code').textContent = status
  find('text').textContent = text
}

choice.onchange = show
find('token').oninput = use
find('form').oninput = write
find('form').onsubmit = send
use()
show()
