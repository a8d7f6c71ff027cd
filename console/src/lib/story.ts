/** The history of an instance as marks on a time axis: bars for what lasted, and what is to come. */

import type { HistoryEvent, Instance, Task } from './api'
import type { Lane, Mark, Tone } from './axis'
import { elementName } from './element'
import { t } from './text'

type Open = { from: number; lane: string; label: string; tone: Tone; dueAt?: number; timer: boolean }

/** Which words of the history end something, and how. */
const TASK_ENDS: Record<string, [Tone, Mark['shape']]> = {
  taskCompleted: ['green', 'dot'],
  taskFailed: ['red', 'triangle'],
  taskCancelled: ['grey', 'square'],
  detachedTaskCompleted: ['green', 'dot'],
  detachedTaskFailed: ['red', 'triangle'],
}

export function story(
  instance: Instance,
  events: HistoryEvent[],
  tasks: Task[],
  now: number,
): { lanes: Lane[]; marks: Mark[] } {
  const lanes = new Map<string, Lane>([['', { id: '', label: t.axis.instance }]])
  const marks: Mark[] = []
  const open = new Map<string, Open>()
  const elements = new Map(tasks.map((task) => [task.id, task.element]))
  const lane = (name: string, hint?: string) => {
    if (!lanes.has(name)) lanes.set(name, { id: name, label: elementName(name), ...(hint && { hint }) })
    return name
  }
  const add = (mark: Omit<Mark, 'key'>) => marks.push({ ...mark, key: `${marks.length}` })
  const point = (event: HistoryEvent, tone: Tone, shape: Mark['shape'], where = '') =>
    add({ lane: where, from: Date.parse(event.at), tone, shape, label: say(event) })

  for (const event of events) {
    const at = Date.parse(event.at)
    const id = event.id ?? ''
    const ends = TASK_ENDS[event.type]
    if (event.upcoming) continue
    if (event.type === 'started') point(event, 'blue', 'dot')
    else if (event.type === 'ended') {
      const tone = event.name === 'completed' ? 'green' : event.name === 'failed' ? 'red' : 'grey'
      point(event, tone, event.name === 'failed' ? 'triangle' : event.name === 'completed' ? 'dot' : 'square')
    } else if (event.type === 'timerArmed') {
      const where = lane(event.dueKind === 'timer' ? (event.element ?? '') : t.axis.dueKind(event.dueKind ?? ''))
      const dueAt = event.dueAt ? Date.parse(event.dueAt) : at
      open.set(id, { from: at, lane: where, label: where, tone: 'amber', dueAt, timer: true })
    } else if (event.type === 'timerFired' || event.type === 'timerCancelled') {
      const it = open.get(id)
      open.delete(id)
      const fired = event.type === 'timerFired'
      add({ lane: it?.lane ?? '', from: it?.from ?? at, to: at, tone: fired ? 'accent' : 'grey', shape: fired ? 'diamond' : 'square', label: say(event) })
    } else if (event.type === 'timerMoved' || event.type === 'timerReleased' || event.type === 'timerFrozen') {
      const it = open.get(id)
      if (it && event.dueAt) it.dueAt = Date.parse(event.dueAt)
      point(event, 'amber', 'tick', it?.lane)
    } else if (event.type === 'taskScheduled') {
      const where = lane(event.name ?? '', elements.get(id))
      open.set(id, { from: at, lane: where, label: where, tone: 'blue', timer: false })
    } else if (ends && open.has(id)) {
      const it = open.get(id)
      open.delete(id)
      add({ lane: it?.lane ?? '', from: it?.from ?? at, to: at, tone: ends[0], shape: ends[1], label: say(event) })
    } else if (event.type === 'attemptFailed' || event.type === 'leaseExpired') {
      point(event, 'red', 'triangle', open.get(id)?.lane)
    } else if (event.type === 'incidentRaised') point(event, 'amber', 'diamond')
    else if (event.type === 'note' || event.type === 'compacted') continue
    else point(event, event.by ? 'amber' : 'blue', 'tick')
  }
  for (const [id, it] of open) {
    if (instance.status !== 'running') continue
    if (it.timer && it.dueAt !== undefined) {
      const due = events.find((event) => event.upcoming && event.id === id)
      const to = due ? Date.parse(due.at) : it.dueAt
      const known = due !== undefined
      add({ lane: it.lane, from: it.from, to: now, tone: 'amber', shape: 'tick', label: t.axis.armed(elementName(it.lane)) })
      if (known) add({ lane: it.lane, from: now, to, future: true, tone: 'amber', shape: 'diamond', label: t.axis.due(elementName(it.lane), to, now), timer: id })
    } else {
      add({ lane: it.lane, from: it.from, to: now, tone: 'blue', shape: 'tick', label: t.axis.open(it.lane) })
    }
  }
  const used = new Set(marks.map((mark) => mark.lane))
  return { lanes: [...lanes.values()].filter((it) => used.has(it.id)), marks }
}

/** When it is due, for events that set a time. */
function dueOf(event: HistoryEvent): string | undefined {
  const sets = event.type === 'timerArmed' || event.type === 'timerMoved' || event.type === 'attemptFailed'
  return sets && event.dueAt ? t.due(Date.parse(event.dueAt)) : undefined
}

/** An event of the history in a few words. */
export function say(event: HistoryEvent): string {
  const words = t.history[event.type] ?? event.type
  const parts = [event.name ?? (event.element ? elementName(event.element) : undefined), event.code, event.message, event.cause, dueOf(event)]
  const details = parts.filter((part) => part !== undefined && part !== null && part !== '')
  const by = event.by ? ` · ${t.by(event.by.actor)}${event.by.reason ? `: ${event.by.reason}` : ''}` : ''
  return `${words}${details.length ? ` · ${details.join(' · ')}` : ''}${by}`
}
