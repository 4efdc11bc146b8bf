// A name for this device, from what its browser says of it, so that nobody has to think of one.

import { t } from './texts.js'

/** The first that fits is it. */
const kinds = [
  [/iPhone/, 'iphone'], [/iPad/, 'ipad'], [/Android/, 'android'], [/CrOS/, 'chromebook'], [/Macintosh/, 'mac'],
  [/Windows/, 'windows'], [/Linux/, 'linux'],
]

/** The model if it is known, or the kind of device; the empty text if it is none of these. */
export async function deviceName({ userAgent, userAgentData, maxTouchPoints } = navigator) {
  const { model } = await userAgentData?.getHighEntropyValues?.(['model']).catch(() => null) ?? {}
  if (model) return model
  const [, kind] = kinds.find(([agent]) => agent.test(userAgent)) ?? []
  // An iPad says that it is a Mac, which has no touch screen.
  if (kind === 'mac' && maxTouchPoints > 1) return t('device.ipad')
  return kind ? t(`device.${kind}`) : ''
}
