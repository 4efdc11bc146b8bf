// The settings that this browser stores for one gateway. Nothing here is a secret that opens anything by itself.

const path = new URL('..', import.meta.url).pathname
/** Several gateways may share an origin, each below a path of its own. */
const place = path === '/' ? 'vicinity' : `vicinity:${path}`

/** The type with which `vicinity adhoc` meets others, so that this page meets those who use it. */
export const typeByDefault = 'adhoc'

export function settings() {
  const kept = {
    name: '', type: typeByDefault, meeting: 'ask', looking: true, peer: null, session: null, open: null, csrf: null,
    language: null, wall: null, guest: null, guests: {}, alerts: false, sound: null,
  }
  try {
    return Object.assign(kept, JSON.parse(localStorage.getItem(place)))
  } catch {
    return kept
  }
}

/** Deletes all settings but the language, which is not personal. */
export function forget() {
  const { language } = settings()
  try {
    localStorage.removeItem(place)
  } catch {
    // A setting that is not stored is forgotten already.
  }
  if (language) keep({ language })
}

export function keep(changes) {
  try {
    localStorage.setItem(place, JSON.stringify({ ...settings(), ...changes }))
  } catch {
    // A browser without storage has the defaults again the next time.
  }
}
