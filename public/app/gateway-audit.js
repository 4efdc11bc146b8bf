// The audit log: who was let in and sent away, and what was accepted, the latest first.

import { h, show } from './dom.js'
import { knownNames, subjectName } from './known-names.js'
import { rows, section } from './parts.js'
import { t } from './texts.js'
import { dateAndTime, joined, worded } from './words.js'

const entriesMax = 50

export function audit(home) {
  let known = new Map()
  const entries = rows((entry) => [
    worded('audit', entry.deed),
    joined(subjectName(known, entry.about), entry.device, entry.settings?.join(', '), entry.role, entry.by && worded('actor', entry.by), dateAndTime(entry.at)),
  ])
  const none = h('p', { class: 'empty' }, t('audit.none'))
  return {
    element: section(t('audit.title'), entries.element, none),
    update() {
      // Only who looks at it follows it.
      const { items } = home.audit ??= home.follow('/v1/audit')
      known = knownNames(home)
      entries.draw(items.slice(-entriesMax).reverse())
      show(none, items.length === 0)
    },
  }
}
