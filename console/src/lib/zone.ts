/** Times in the zone of a schedule, and where its clocks change. */

const formats = new Map<string, Intl.DateTimeFormat | undefined>()

function format(zone: string): Intl.DateTimeFormat | undefined {
  if (!formats.has(zone)) {
    try {
      formats.set(zone, new Intl.DateTimeFormat('en-GB', { timeZone: zone, weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hour12: false, timeZoneName: 'longOffset' }))
    } catch {
      // The browser may be older than the zones of the engine.
      formats.set(zone, undefined)
    }
  }
  return formats.get(zone)
}

/** `Sun 29 Mar, 03:00` in the zone, and its distance from UTC: `GMT+02:00`. */
export function inZone(at: number, zone: string): { time: string; offset: string } | undefined {
  const parts = format(zone)?.formatToParts(at)
  if (!parts) return undefined
  const part = (type: string) => parts.find((it) => it.type === type)?.value ?? ''
  const time = `${part('weekday')} ${part('day')} ${part('month')}, ${part('hour')}:${part('minute')}`
  return { time, offset: part('timeZoneName') }
}

/** For each instant whether the clocks of the zone changed since the one before. */
export function clockChanges(times: number[], zone: string): boolean[] {
  const offsets = times.map((at) => inZone(at, zone)?.offset)
  return offsets.map((offset, index) => index > 0 && offset !== offsets[index - 1])
}
