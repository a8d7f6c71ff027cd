/** Instants and durations in words. Times are local; the zone is shown on hover. */

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
export const YEAR = 365.25 * DAY

const UNITS: [number, string, string][] = [
  [YEAR, 'y', 'year'],
  [30.44 * DAY, 'mo', 'month'],
  [DAY, 'd', 'day'],
  [HOUR, 'h', 'hour'],
  [MINUTE, 'min', 'minute'],
  [SECOND, 's', 'second'],
]

/** `3 d`, `2 h`, `450 ms`. */
export function span(ms: number): string {
  const size = Math.abs(ms)
  for (const [unit, short] of UNITS) {
    // Two months are clearer as days, two days as hours.
    if (size >= unit * (short === 'mo' || short === 'y' ? 2 : 1)) {
      const count = size / unit
      return `${count < 10 && count % 1 >= 0.05 ? count.toFixed(1).replace(/\.0$/, '') : Math.round(count)} ${short}`
    }
  }
  return `${Math.round(size)} ms`
}

/** `in 3 d`, `2 h ago`, `now`. */
export function relative(at: number, now: number): string {
  const ms = at - now
  if (Math.abs(ms) < SECOND) return 'now'
  return ms > 0 ? `in ${span(ms)}` : `${span(ms)} ago`
}

const pad = (value: number, size = 2) => String(value).padStart(size, '0')

export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const dayYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const weekday = new Intl.DateTimeFormat('en-GB', { weekday: 'short' })

export function timeOfDay(at: number, seconds = false): string {
  const date = new Date(at)
  const text = `${pad(date.getHours())}:${pad(date.getMinutes())}`
  return seconds ? `${text}:${pad(date.getSeconds())}` : text
}

export const dayOf = (at: number): string => day.format(at)
export const weekdayOf = (at: number): string => weekday.format(at)

/** As short as it can be and still clear: `16:00`, `9 Mar 16:00`, `9 Mar 2027 16:00`. */
export function absolute(at: number, now: number, seconds = false): string {
  const [date, today] = [new Date(at), new Date(now)]
  const time = timeOfDay(at, seconds)
  if (date.toDateString() === today.toDateString()) return time
  const format = date.getFullYear() === today.getFullYear() ? day : dayYear
  return `${format.format(at)} ${time}`
}

/** The whole instant with its zone, and as the API writes it. */
export function full(at: number): string {
  const text = new Date(at).toLocaleString('en-GB', { dateStyle: 'full', timeStyle: 'medium' })
  return `${text} (${ZONE})\n${new Date(at).toISOString()}`
}

/** The value of an `<input type="datetime-local">`. */
export function toLocalInput(at: number): string {
  const date = new Date(at)
  const days = `${pad(date.getFullYear(), 4)}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`
  return `${days}T${timeOfDay(at, true)}`
}

export function fromLocalInput(text: string): string | undefined {
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

export function startOfDay(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0)
}

export function addDays(at: number, days: number): number {
  const date = new Date(at)
  return date.setDate(date.getDate() + days)
}
