/**
 * Places the nodes of a graph in columns, from left to right.
 *
 * Columns are the longest way from a start, where edges that lead back are left out; within a
 * column, nodes stand near those that they are connected to. Edges over several columns bend
 * through places of their own, so that they do not run behind nodes.
 */

import type { Schemas } from './api'

type Graph = Schemas['DefinitionGraph']
export type Place = { id: string; x: number; y: number; node: Schemas['GraphNode'] }
export type Line = { from: string; to: string; label: string; path: string; middle: [number, number]; back: boolean }
export type Layout = { places: Place[]; lines: Line[]; width: number; height: number }

export const NODE = { width: 160, height: 42 }
const GAP = { x: 56, y: 20 }

type Cell = { key: string; id?: string; column: number; y: number; above: Cell[]; below: Cell[] }

export function layout(graph: Graph): Layout {
  const ids = graph.nodes.map((node) => node.id)
  const edges = graph.edges.filter((edge) => ids.includes(edge.from) && ids.includes(edge.to))
  const back = edgesBack(ids, edges)
  const column = columns(ids, edges.filter((edge) => !back.has(edge)))
  const cells = new Map<string, Cell>()
  const rows: Cell[][] = []
  const put = (cell: Cell) => (rows[cell.column] ??= []).push(cell)
  for (const id of ids) {
    const cell = { key: id, id, column: column.get(id) ?? 0, y: 0, above: [], below: [] }
    cells.set(id, cell)
    put(cell)
  }
  const chains = edges.map((edge, index) => {
    const [a, b] = [cells.get(edge.from), cells.get(edge.to)] as [Cell, Cell]
    if (back.has(edge) || b.column <= a.column) return { edge, chain: [a, b] }
    const chain = [a]
    for (let at = a.column + 1; at < b.column; at++) {
      const bend: Cell = { key: `${index}:${at}`, column: at, y: 0, above: [], below: [] }
      put(bend)
      chain.push(bend)
    }
    chain.push(b)
    for (let at = 1; at < chain.length; at++) {
      chain[at - 1]?.below.push(chain[at] as Cell)
      chain[at]?.above.push(chain[at - 1] as Cell)
    }
    return { edge, chain }
  })
  arrange(rows)
  const heightOf = (cell: Cell) => (cell.id ? NODE.height : 8)
  const left = (cell: Cell) => cell.column * (NODE.width + GAP.x)
  let height = 0
  for (const cell of rows.flat()) height = Math.max(height, cell.y + heightOf(cell))
  const deepest = height
  const lines = chains.map(({ edge, chain }) => {
    const [a, b] = [chain[0], chain.at(-1)] as [Cell, Cell]
    const label = edge.label ?? ''
    if (back.has(edge) || b.column <= a.column) {
      // Below everything, and in at the left again.
      const y = deepest + 18
      height = Math.max(height, y + 8)
      const [x1, y1, x2, y2] = [left(a) + NODE.width / 2, a.y + NODE.height, left(b) + NODE.width / 2, b.y + NODE.height]
      const path = `M${x1} ${y1}C${x1} ${y} ${x1} ${y} ${x1 - 24 * Math.sign(x1 - x2 || 1)} ${y}L${x2 + 24 * Math.sign(x1 - x2 || 1)} ${y}C${x2} ${y} ${x2} ${y} ${x2} ${y2 + 3}`
      return { ...edge, label, path, middle: [(x1 + x2) / 2, y] as [number, number], back: true }
    }
    const points: [number, number][] = chain.flatMap((cell, index) => {
      const y = cell.y + heightOf(cell) / 2
      if (index === 0) return [[left(cell) + NODE.width, y]]
      if (index === chain.length - 1) return [[left(cell) - 3, y]]
      return [[left(cell), y], [left(cell) + NODE.width, y]]
    })
    let path = `M${points[0]?.join(' ')}`
    for (let at = 1; at < points.length; at++) {
      const [x1, y1] = points[at - 1] as [number, number]
      const [x2, y2] = points[at] as [number, number]
      const bend = (x2 - x1) / 2
      path += y1 === y2 ? `L${x2} ${y2}` : `C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`
    }
    const [first, second] = points as [[number, number], [number, number]]
    return { ...edge, label, path, middle: [(first[0] + second[0]) / 2, (first[1] + second[1]) / 2] as [number, number], back: false }
  })
  const places = graph.nodes.map((node) => {
    const cell = cells.get(node.id) as Cell
    return { id: node.id, node, x: left(cell), y: cell.y }
  })
  return { places, lines, height, width: rows.length * (NODE.width + GAP.x) - GAP.x }
}

type Edge = Graph['edges'][number]

/** Edges that close a cycle, found by a walk from the nodes that nothing leads to. */
function edgesBack(ids: string[], edges: Edge[]): Set<Edge> {
  const found = new Set<Edge>()
  const state = new Map<string, 'open' | 'done'>()
  const visit = (id: string) => {
    state.set(id, 'open')
    for (const edge of edges.filter((it) => it.from === id)) {
      const seen = state.get(edge.to)
      if (seen === 'open') found.add(edge)
      else if (!seen) visit(edge.to)
    }
    state.set(id, 'done')
  }
  const roots = ids.filter((id) => !edges.some((edge) => edge.to === id))
  for (const id of [...roots, ...ids]) if (!state.has(id)) visit(id)
  return found
}

function columns(ids: string[], edges: Edge[]): Map<string, number> {
  const column = new Map(ids.map((id) => [id, 0]))
  // Without cycles, as many rounds as there are nodes are enough.
  for (let round = 0; round < ids.length; round++) {
    let changed = false
    for (const edge of edges) {
      const wanted = (column.get(edge.from) ?? 0) + 1
      if (wanted > (column.get(edge.to) ?? 0)) {
        column.set(edge.to, wanted)
        changed = true
      }
    }
    if (!changed) break
  }
  return column
}

/** Orders each column by the middle of its neighbours, there and back, then gives every cell a y. */
function arrange(rows: Cell[][]): void {
  const index = new Map<Cell, number>()
  const number = () => rows.forEach((row) => row.forEach((cell, at) => index.set(cell, at)))
  number()
  const middle = (cells: Cell[], own: number) =>
    cells.length ? cells.reduce((sum, cell) => sum + (index.get(cell) ?? 0), 0) / cells.length : own
  for (let round = 0; round < 6; round++) {
    const order = round % 2 === 0 ? rows : rows.toReversed()
    for (const row of order) {
      const side = (cell: Cell) => (round % 2 === 0 ? cell.above : cell.below)
      const at = new Map(row.map((cell, own) => [cell, middle(side(cell), own)]))
      row.sort((a, b) => (at.get(a) ?? 0) - (at.get(b) ?? 0))
      row.forEach((cell, own) => index.set(cell, own))
    }
  }
  const size = (cell: Cell) => (cell.id ? NODE.height : 8) + GAP.y
  const heights = rows.map((row) => row.reduce((sum, cell) => sum + size(cell), 0))
  const highest = Math.max(...heights, 0)
  rows.forEach((row, at) => {
    let y = (highest - (heights[at] ?? 0)) / 2
    for (const cell of row) {
      cell.y = y
      y += size(cell)
    }
  })
}
