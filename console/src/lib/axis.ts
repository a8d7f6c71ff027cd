/** What stands on a time axis, and the part of it that is in view. */

export type Tone = 'blue' | 'grey' | 'green' | 'red' | 'amber' | 'accent'

export type Lane = { id: string; label: string; hint?: string }

export type Mark = {
  /** For selection, and unique on its axis. */
  key: string
  lane: string
  from: number
  /** A bar if it lasts. */
  to?: number
  /** Outlined: it has not happened yet. */
  future?: boolean
  shape: 'dot' | 'triangle' | 'diamond' | 'square' | 'tick'
  tone: Tone
  label: string
  /** The id of a timer that can be dragged. */
  timer?: string
}

export type View = { from: number; to: number }

/** Everything, with the now line unless all is past, and some room at both sides. */
export function fit(marks: Mark[], now: number, past = false): View {
  let [from, to] = past && marks[0] ? [marks[0].from, marks[0].from] : [now, now]
  for (const mark of marks) {
    from = Math.min(from, mark.from)
    to = Math.max(to, mark.to ?? mark.from)
  }
  const room = Math.max((to - from) * 0.06, 5000)
  return { from: from - room, to: to + room }
}

const SHORTEST = 20
const LONGEST = 200 * 365 * 86_400_000

/** Zooms by a factor around an instant. */
export function zoom(view: View, factor: number, at: number): View {
  const size = view.to - view.from
  const wanted = Math.min(Math.max(size * factor, SHORTEST), LONGEST)
  const share = (at - view.from) / size
  return { from: at - wanted * share, to: at + wanted * (1 - share) }
}

export function pan(view: View, ms: number): View {
  return { from: view.from + ms, to: view.to + ms }
}

/** `1772438400000-1773043200000`, for addresses. */
export function viewText(view: View): string {
  return `${Math.round(view.from)}-${Math.round(view.to)}`
}

export function parseView(text: string | undefined): View | undefined {
  const found = /^(-?\d+)-(-?\d+)$/.exec(text ?? '')
  if (!found) return undefined
  const view = { from: Number(found[1]), to: Number(found[2]) }
  return view.to - view.from >= SHORTEST ? view : undefined
}
