// Files that were sent at once are one group, and a file for several people is one file of it.

/** At most this far apart, in milliseconds, are files that were sent at once. */
const pauseMax = 10_000
/** The limit on files of a group, so that a card stays a part of the page. */
const filesMax = 20

/**
 * Entries of the timeline, of resources in the order in which they came. Each has `files`, of which each has `copies`: the
 * resource of each member who receives it.
 */
export function groupFiles(resources) {
  const groups = []
  /** The latest one of each sender. */
  const latest = new Map()
  for (const resource of resources) {
    const isMine = resource.direction === 'outgoing'
    const sender = isMine ? null : resource.from
    const time = Date.parse(resource.createdAt)
    let group = latest.get(sender)
    const file = group && isMine ? group.files.find(({ copies }) => isCopy(resource, copies)) : undefined
    if (!group || time - group.lastTime > pauseMax || (!file && group.files.length >= filesMax)) {
      group = { kind: 'files', key: resource.id, at: resource.createdAt, time, lastTime: time, isMine, files: [] }
      latest.set(sender, group)
      groups.push(group)
    }
    group.lastTime = time
    if (file && group.files.includes(file)) file.copies.push(resource)
    else group.files.push({ id: resource.id, copies: [resource] })
  }
  return groups
}

/** Whether it is the same file for somebody else: it was sent together with the others, or at once and looks the same. */
const isCopy = ({ group, name, size, contentType, to }, copies) =>
  group === copies[0].group && copies[0].name === name && copies[0].size === size && copies[0].contentType === contentType
    && copies.every((copy) => copy.to !== to)
