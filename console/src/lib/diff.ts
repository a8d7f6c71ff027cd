/** The difference of two texts, line by line, with three lines around each change. */

export type DiffLine = { kind: 'same' | 'added' | 'removed' | 'gap'; text: string }

const AROUND = 3

export function diff(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1
  const lines: DiffLine[] = a.slice(0, head).map((text) => ({ kind: 'same', text }))
  lines.push(...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)))
  lines.push(...a.slice(a.length - tail).map((text): DiffLine => ({ kind: 'same', text })))
  return folded(lines)
}

/** The longest common subsequence; two large texts with nothing in common are one change. */
function middle(a: string[], b: string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: 'removed', text })
  const added = (text: string): DiffLine => ({ kind: 'added', text })
  if (a.length * b.length > 4_000_000) return [...a.map(removed), ...b.map(added)]
  const width = b.length + 1
  const common = new Uint32Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = a[i] === b[j]
        ? (common[(i + 1) * width + j + 1] ?? 0) + 1
        : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0)
    }
  }
  const found: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.push({ kind: 'same', text: a[i] ?? '' })
      i += 1
      j += 1
    } else if (j >= b.length || (i < a.length && (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))) {
      found.push(removed(a[i++] ?? ''))
    } else {
      found.push(added(b[j++] ?? ''))
    }
  }
  return found
}

function folded(lines: DiffLine[]): DiffLine[] {
  const near = lines.map((_, at) => lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((line) => line.kind !== 'same'))
  const found: DiffLine[] = []
  for (const [at, line] of lines.entries()) {
    if (near[at]) found.push(line)
    else if (found.at(-1)?.kind !== 'gap') found.push({ kind: 'gap', text: '…' })
  }
  return found
}
