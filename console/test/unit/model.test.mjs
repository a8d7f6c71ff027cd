import assert from 'node:assert/strict'
import { test } from 'node:test'
import { load } from './support.mjs'

const { diff } = await load('/src/lib/diff.ts')
const { layout, NODE } = await load('/src/lib/layout.ts')
const { story } = await load('/src/lib/story.ts')

test('a difference holds what was added and removed, with what is around it', () => {
  const before = Array.from({ length: 20 }, (_, line) => `line ${line}`)
  const after = before.toSpliced(10, 1, 'changed', 'and more')
  const found = diff(before.join('\n'), after.join('\n'))
  assert.deepEqual(found.filter((it) => it.kind === 'removed').map((it) => it.text), ['line 10'])
  assert.deepEqual(found.filter((it) => it.kind === 'added').map((it) => it.text), ['changed', 'and more'])
  assert.deepEqual(found.filter((it) => it.kind === 'same').map((it) => it.text), ['line 7', 'line 8', 'line 9', 'line 11', 'line 12', 'line 13'])
  assert.equal(found.filter((it) => it.kind === 'gap').length, 2)
  assert.deepEqual(diff('a\nb', 'a\nb').filter((it) => it.kind !== 'gap'), [])
})

const graph = (text) => {
  const edges = text.split(' ').map((edge) => ({ from: edge[0], to: edge[1] }))
  const nodes = [...new Set(edges.flatMap((edge) => [edge.from, edge.to]))].map((id) => ({ id, kind: 'task', label: id }))
  return { nodes, edges }
}

test('graphs are placed from left to right, and no node covers another', () => {
  for (const text of ['ab bc cd', 'ab ac bd cd de', 'ab bc ca cd', 'aa ab', 'ab bc ac ad de ae', 'ab cd']) {
    const { places, lines, width, height } = layout(graph(text))
    for (const a of places) {
      assert.ok(a.x >= 0 && a.y >= 0 && a.x + NODE.width <= width && a.y + NODE.height <= height, text)
      for (const b of places) {
        const apart = a === b || Math.abs(a.x - b.x) >= NODE.width || Math.abs(a.y - b.y) >= NODE.height
        assert.ok(apart, `${text}: ${a.id} and ${b.id}`)
      }
    }
    const x = Object.fromEntries(places.map((it) => [it.id, it.x]))
    for (const line of lines) assert.ok(line.back || x[line.from] < x[line.to], `${text}: ${line.from}${line.to}`)
    assert.ok(lines.every((line) => !line.path.includes('NaN') && !line.path.includes('undefined')), text)
  }
})

test('a history becomes bars, points and what is to come', () => {
  const now = Date.parse('2026-03-10T08:00:00Z')
  const event = (at, type, more) => ({ at, type, upcoming: false, ...more })
  const events = [
    event('2026-03-02T08:00:00Z', 'started'),
    event('2026-03-02T08:00:00Z', 'timerArmed', { id: 'tm_1', element: '14:69', dueKind: 'timer', dueAt: '2026-03-09T08:00:00Z' }),
    event('2026-03-02T08:00:00Z', 'timerArmed', { id: 'tm_2', element: 'deadline', dueKind: 'deadline', dueAt: '2026-04-01T08:00:00Z' }),
    event('2026-03-09T08:00:00Z', 'timerFired', { id: 'tm_1', dueKind: 'timer' }),
    event('2026-03-09T08:00:00Z', 'taskScheduled', { id: 'tk_1', name: 'send' }),
    event('2026-03-09T09:00:00Z', 'attemptFailed', { id: 'tk_1', code: 'NO', message: 'not now' }),
    { at: '2026-04-01T08:00:00Z', type: 'deadline', upcoming: true, id: 'tm_2', element: 'deadline' },
  ]
  const { lanes, marks } = story({ status: 'running' }, events, [], now)
  assert.deepEqual(lanes.map((it) => it.label), ['Instance', 'line 14', 'Deadline', 'send'])
  const future = marks.filter((mark) => mark.future)
  assert.deepEqual(future.map((it) => [it.timer, it.from, it.to]), [['tm_2', now, Date.parse('2026-04-01T08:00:00Z')]])
  const fired = marks.find((mark) => mark.tone === 'accent')
  assert.equal(fired.to - fired.from, 7 * 86_400_000)
  assert.ok(marks.some((mark) => mark.lane === 'send' && mark.shape === 'triangle'))
  assert.ok(marks.some((mark) => mark.lane === 'send' && mark.to === now), 'an open task reaches now')
  const ended = story({ status: 'completed' }, events.slice(0, 2), [], now)
  assert.ok(ended.marks.every((mark) => !mark.future), 'what has ended has no future')
})
