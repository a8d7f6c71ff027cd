/** Ticks of a time axis, from milliseconds to decades, at round local times. */

import { DAY, HOUR, MINUTE, SECOND, YEAR, dayOf, timeOfDay, weekdayOf } from './time'

type Step = { ms: number; months?: number }

const STEPS: Step[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((ms) => ({ ms })),
  ...[1, 2, 5, 10, 15, 30].map((count) => ({ ms: count * SECOND })),
  ...[1, 2, 5, 10, 15, 30].map((count) => ({ ms: count * MINUTE })),
  ...[1, 2, 3, 6, 12].map((count) => ({ ms: count * HOUR })),
  ...[1, 2, 7, 14].map((count) => ({ ms: count * DAY })),
  ...[1, 2, 3, 6].map((months) => ({ ms: (months * YEAR) / 12, months })),
  ...[1, 2, 5, 10, 20, 50, 100].map((years) => ({ ms: years * YEAR, months: years * 12 })),
]

export type Tick = { at: number; label: string; major: boolean }

export function ticks(from: number, to: number, width: number, spacing = 92): Tick[] {
  const wanted = ((to - from) / Math.max(width, 1)) * spacing
  const step = STEPS.find((it) => it.ms >= wanted) ?? STEPS.at(-1)
  if (!step || !(to > from)) return []
  const found: Tick[] = []
  for (let at = first(from, step); at <= to && found.length < 200; at = next(at, step)) {
    found.push({ at, label: label(at, step), major: isMajor(at, step) })
  }
  return found
}

function first(from: number, step: Step): number {
  const date = new Date(from)
  if (step.months) {
    const months = date.getFullYear() * 12 + date.getMonth()
    const begin = Math.floor(months / step.months) * step.months
    const at = new Date(Math.floor(begin / 12), begin % 12, 1).getTime()
    return at < from ? next(at, step) : at
  }
  // From local midnight on, so that six-hour ticks are at six o'clock here.
  let at = new Date(from).setHours(0, 0, 0, 0)
  if (step.ms > DAY) {
    const days = Math.floor((at - date.getTimezoneOffset() * MINUTE) / DAY)
    at = new Date(at).setDate(date.getDate() - (days % (step.ms / DAY)))
  } else {
    at += Math.floor((from - at) / step.ms) * step.ms
  }
  return at < from ? next(at, step) : at
}

function next(at: number, step: Step): number {
  if (step.months) return new Date(at).setMonth(new Date(at).getMonth() + step.months)
  if (step.ms < DAY) return at + step.ms
  // Days have 23 or 25 hours when the clocks change.
  return new Date(at).setDate(new Date(at).getDate() + step.ms / DAY)
}

function label(at: number, step: Step): string {
  const date = new Date(at)
  if (step.months) {
    const year = date.getFullYear()
    if (step.months >= 12) return String(year)
    const month = date.toLocaleDateString('en-GB', { month: 'short' })
    return date.getMonth() === 0 ? `${month} ${year}` : month
  }
  if (step.ms >= DAY) return step.ms === DAY ? `${weekdayOf(at)} ${dayOf(at)}` : dayOf(at)
  if (isMajor(at, step) && step.ms >= MINUTE) return dayOf(at)
  if (step.ms >= MINUTE) return timeOfDay(at)
  if (step.ms >= SECOND) return timeOfDay(at, true)
  return `${timeOfDay(at, true)}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** Whether a new day, month or year begins here. */
function isMajor(at: number, step: Step): boolean {
  const date = new Date(at)
  if (step.months) return date.getMonth() === 0
  if (step.ms >= DAY) return date.getDate() === 1
  return date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0
}
