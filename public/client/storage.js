// Storage that survives a reload: tables of records, each with an `id`.

const tables = ['messages', 'uploads']

/** As long as the program. */
export function memoryStorage() {
  const records = new Map(tables.map((table) => [table, new Map()]))
  return {
    isDurable: false,
    async all(table) { return [...records.get(table).values()] },
    async put(table, record) { records.get(table).set(record.id, record) },
    async delete(table, id) { records.get(table).delete(id) },
  }
}

/** In a database of the browser; in memory, if the browser refuses one, as in some private windows. */
export function indexedDBStorage(name) {
  const opened = open(name).catch(() => null)
  const otherwise = memoryStorage()
  const storage = {
    isDurable: true,
    all: (table) => run(table, 'readonly', (records) => records.getAll(), () => otherwise.all(table)),
    put: (table, record) => run(table, 'readwrite', (records) => records.put(record), () => otherwise.put(table, record)),
    delete: (table, id) => run(table, 'readwrite', (records) => records.delete(id), () => otherwise.delete(table, id)),
  }
  async function run(table, mode, work, fallback) {
    const database = await opened
    if (!database) {
      storage.isDurable = false
      return fallback()
    }
    return new Promise((resolve, reject) => {
      const transaction = database.transaction(table, mode)
      const request = work(transaction.objectStore(table))
      transaction.oncomplete = () => resolve(request.result)
      transaction.onerror = transaction.onabort = () => reject(transaction.error)
    })
  }
  return storage
}

function open(name) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1)
    request.onupgradeneeded = () => {
      for (const table of tables) request.result.createObjectStore(table, { keyPath: 'id' })
    }
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
