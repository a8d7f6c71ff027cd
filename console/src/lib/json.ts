/**
 * JSON whose numbers keep their notation: `1.10` stays `1.10`, and an integer of twenty digits
 * stays itself. The engine keeps documents as they were written, and so does this page.
 */

type RawJson = { rawJSON: string }
type JsonWithRaw = typeof JSON & {
  rawJSON?: (text: string) => RawJson
  isRawJSON?: (value: unknown) => boolean
}
const raw = JSON as JsonWithRaw

export function parseJson(text: string): unknown {
  const { rawJSON } = raw
  if (!rawJSON) return JSON.parse(text)
  const revive = (_: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source
    return typeof value === 'number' && source !== undefined && String(value) !== source
      ? rawJSON(source)
      : value
  }
  return JSON.parse(text, revive as Parameters<typeof JSON.parse>[1])
}

export function formatJson(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? 'null'
}

/** One line, shortened: for cells of tables. */
export function shortJson(value: unknown, length = 80): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}

export function isRawNumber(value: unknown): boolean {
  return raw.isRawJSON?.(value) ?? false
}
