/** The typed client of the API: every path, parameter and answer comes from `openapi.json`. */

import createClient, { type Middleware } from 'openapi-fetch'
import type { components, paths } from '../api/schema'
import { parseJson } from './json'
import { session } from './session.svelte'

export type Schemas = components['schemas']
export type Instance = Schemas['Instance']
export type InstanceSummary = Schemas['InstanceSummary']
export type HistoryEvent = Schemas['HistoryEvent']
export type Incident = Schemas['Incident']
export type Task = Schemas['Task']
export type Timer = Schemas['Timer']
export type Schedule = Schemas['Schedule']
export type Definition = Schemas['Definition']
export type Diagnostic = Schemas['Diagnostic']
export type UpcomingEvent = Schemas['UpcomingEvent']
export type Problem = Schemas['Problem']

/** What the API refused, with its code; or that it could not be reached. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly problem: Partial<Problem>

  constructor(
    readonly status: number,
    problem: unknown,
  ) {
    const found = typeof problem === 'object' && problem !== null ? (problem as Partial<Problem>) : {}
    super(found.detail ?? found.title ?? (status === 0 ? 'unreachable' : `HTTP ${status}`))
    this.problem = found
  }

  get code(): string {
    return this.problem.code ?? (this.status === 0 ? 'unreachable' : `http_${this.status}`)
  }
}

/** Sends the key of the session, and reads numbers as they were written. */
export async function send(input: Request | string, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init)
  const { key } = session
  if (key) request.headers.set('Authorization', `Bearer ${key}`)
  let response: Response
  try {
    response = await fetch(request)
  } catch (cause) {
    if (request.signal.aborted) throw cause
    session.reachable = false
    throw new ApiError(0, {})
  }
  session.reachable = true
  // An answer to a request from before the login says nothing about the key of now.
  if (response.status === 401 && key === session.key) session.refused()
  response.json = async () => parseJson(await response.text())
  return response
}

/** Turns refusals into errors, so that no caller can forget them. */
const throwing: Middleware = {
  async onResponse({ response }) {
    if (response.ok) return undefined
    let body: unknown = {}
    try {
      body = await response.clone().json()
    } catch {
      // Not a problem document: the status has to do.
    }
    throw new ApiError(response.status, body)
  },
}

export const api = createClient<paths>({ baseUrl: '/', fetch: (request) => send(request) })
api.use(throwing)

/** The data of an answer; refusals have been thrown before. */
export async function data<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T
}
