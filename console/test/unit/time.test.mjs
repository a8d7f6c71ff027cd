import assert from 'node:assert/strict'
import { test } from 'node:test'
import { load } from './support.mjs'

const time = await load('/src/lib/time.ts')
const { ticks } = await load('/src/lib/ticks.ts')
const { fit, parseView, viewText, zoom } = await load('/src/lib/axis.ts')
const { clockChanges, inZone } = await load('/src/lib/zone.ts')
const at = (text) => Date.parse(text)

test('spans have one unit and at most one decimal', () => {
  const cases = [[0, '0 ms'], [450, '450 ms'], [1500, '1.5 s'], [90_000, '1.5 min'], [7_200_000, '2 h'], [36 * 3_600_000, '1.5 d'], [40 * 86_400_000, '40 d'], [70 * 86_400_000, '2.3 mo'], [800 * 86_400_000, '2.2 y']]
  for (const [ms, text] of cases) assert.equal(time.span(ms), text)
})

test('relative times say the direction', () => {
  assert.equal(time.relative(1000, 1000), 'now')
  assert.equal(time.relative(7_201_000, 1000), 'in 2 h')
  assert.equal(time.relative(1000, 7_201_000), '2 h ago')
})

test('what a field for local times holds survives the way there and back', () => {
  for (const text of ['2026-03-29T00:59:59.000Z', '2026-03-29T01:00:00.000Z', '2026-07-01T12:34:56.000Z']) {
    assert.equal(time.fromLocalInput(time.toLocalInput(at(text))), text)
  }
  assert.equal(time.fromLocalInput('nonsense'), undefined)
})

test('ticks exist from milliseconds to centuries, are in view and rise', () => {
  const from = at('2026-03-02T08:00:00Z')
  for (let size = 20; size < 300 * 365 * 86_400_000; size *= 3) {
    const found = ticks(from, from + size, 900)
    assert.ok(found.length >= 1 && found.length <= 60, `${size}: ${found.length}`)
    for (const [index, tick] of found.entries()) {
      assert.ok(tick.at >= from && tick.at <= from + size, `${size}`)
      assert.ok(index === 0 || tick.at > found[index - 1].at, `${size}`)
      assert.ok(tick.label.length > 0)
    }
  }
})

test('ticks of days are at local midnight, also when the clocks change', () => {
  const found = ticks(at('2026-03-27T12:00:00Z'), at('2026-04-01T12:00:00Z'), 900)
  for (const tick of found) assert.equal(new Date(tick.at).getHours(), 0, tick.label)
  assert.ok(found.some((tick) => tick.label === 'Mon 30 Mar'), JSON.stringify(found))
})

test('the whole axis holds all marks and now, and zooming keeps the place under the pointer', () => {
  const marks = [{ key: 'a', lane: '', from: 1000, to: 900_000, shape: 'dot', tone: 'grey', label: '' }]
  const view = fit(marks, 2_000_000)
  assert.ok(view.from < 1000 && view.to > 2_000_000)
  assert.ok(fit(marks, 2_000_000, true).to < 1_000_000, 'what has ended does not reach to now')
  const near = zoom(view, 0.5, 500_000)
  const share = (it) => (500_000 - it.from) / (it.to - it.from)
  assert.ok(Math.abs(share(view) - share(near)) < 1e-9)
  assert.ok(Math.abs((near.to - near.from) / (view.to - view.from) - 0.5) < 1e-9)
})

test('a view survives the address', () => {
  assert.deepEqual(parseView(viewText({ from: 10, to: 5000 })), { from: 10, to: 5000 })
  for (const text of [undefined, '', '5-5', 'a-b', '10']) assert.equal(parseView(text), undefined)
})

test('times of a zone are those of its clocks, and a change is seen', () => {
  assert.deepEqual(inZone(at('2026-03-29T01:00:00Z'), 'Europe/Berlin'), { time: 'Sun 29 Mar, 03:00', offset: 'GMT+02:00' })
  const days = ['2026-03-27', '2026-03-28', '2026-03-29', '2026-03-30'].map((day) => at(`${day}T05:00:00Z`))
  assert.deepEqual(clockChanges(days, 'Europe/Berlin'), [false, false, true, false])
  assert.deepEqual(clockChanges(days, 'UTC'), [false, false, false, false])
  assert.equal(inZone(0, 'Nowhere/Land'), undefined)
})
