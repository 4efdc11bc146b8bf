// Prints what the types and the code of the client name: exports, and the methods and accessors of each class.

import { createRequire } from 'node:module'

const typescript = createRequire(import.meta.url)(process.argv[2])
const [types, code] = process.argv.slice(3)

const declared = {}
const program = typescript.createProgram([types], { target: typescript.ScriptTarget.ES2022 })
const checker = program.getTypeChecker()
const module = checker.getSymbolAtLocation(program.getSourceFile(types))
for (const symbol of checker.getExportsOfModule(module)) {
  const { SymbolFlags } = typescript
  if (!(symbol.flags & SymbolFlags.Value)) continue
  declared[symbol.name] = !(symbol.flags & SymbolFlags.Class) ? [] : [...symbol.members.values()]
    .filter((member) => member.flags & (SymbolFlags.Method | SymbolFlags.Accessor))
    .map((member) => member.name).filter((name) => !name.startsWith('__')).sort()
}

const client = await import(code)
const inherited = new Set(Object.getOwnPropertyNames(EventTarget.prototype))
const defined = {}
for (const [name, value] of Object.entries(client)) {
  const members = new Set()
  const isOwn = (prototype) => prototype && prototype !== EventTarget.prototype && prototype !== Error.prototype
    && prototype !== Object.prototype && (name === 'Emitter' || prototype !== client.Emitter.prototype)
  for (let prototype = value.prototype; isOwn(prototype); prototype = Object.getPrototypeOf(prototype)) {
    for (const member of Object.getOwnPropertyNames(prototype)) if (!inherited.has(member)) members.add(member)
  }
  members.delete('constructor')
  defined[name] = [...members].sort()
}

const sorted = (object) => Object.fromEntries(Object.entries(object).sort())
console.log(JSON.stringify({ declared: sorted(declared), defined: sorted(defined) }))
