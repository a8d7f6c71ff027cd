/** What people type into forms, as values for the API; a mistake is an error like those of the API. */

import { ApiError } from './api'
import { parseJson } from './json'
import { t } from './text'

/** JSON, or nothing when the field is empty. */
export function jsonInput(text: string): unknown {
  if (text.trim() === '') return undefined
  try {
    return parseJson(text)
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause)
    throw new ApiError(400, { code: 'invalid_json', detail: t.notJson(detail), type: '/docs#error-invalid_json' })
  }
}

export function jsonObject(text: string): Record<string, unknown> {
  const value = jsonInput(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>
  }
  throw new ApiError(400, { code: 'invalid_json', detail: t.notObject })
}

export const textOrNothing = (text: string): string | undefined => text.trim() || undefined

export function numberOrNothing(text: string | number | null | undefined): number | undefined {
  const number = Number(text)
  return text === '' || text === null || text === undefined || Number.isNaN(number) ? undefined : number
}
