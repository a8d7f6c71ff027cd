/** A list of the API, page by page: the next one is loaded when the end comes into view. */

import { untrack } from 'svelte'
import { ApiError } from './api'

export type Page<T> = { items: T[]; nextCursor?: string | null | undefined }

export class Pager<T extends { id: string }> {
  items = $state.raw<T[]>([])
  error = $state.raw<ApiError>()
  loading = $state(true)
  /** Whether the first page has come. */
  loaded = $state(false)
  more = $state(false)
  #cursor: string | undefined
  #abort: AbortController | undefined
  #fetch: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<T>>

  /** `fetch` reads what it depends on before it waits: a change starts again at the first page. */
  constructor(fetch: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<T>>) {
    this.#fetch = fetch
    $effect(() => {
      this.loaded = false
      void this.#load(undefined)
      return () => this.#abort?.abort()
    })
  }

  reload = (): void => void untrack(() => this.#load(undefined))

  next = (): void => {
    if (this.more && !this.loading) void this.#load(this.#cursor)
  }

  /** Replaces a row where it is. */
  patch(item: T): void {
    this.items = this.items.map((it) => (it.id === item.id ? item : it))
  }

  async #load(cursor: string | undefined): Promise<void> {
    this.#abort?.abort()
    const abort = new AbortController()
    this.#abort = abort
    const answer = this.#fetch(cursor, abort.signal)
    untrack(() => (this.loading = true))
    try {
      const page = await answer
      if (abort.signal.aborted) return
      this.items = cursor ? [...this.items, ...page.items] : page.items
      this.#cursor = page.nextCursor ?? undefined
      this.more = this.#cursor !== undefined
      this.error = undefined
    } catch (error) {
      if (abort.signal.aborted) return
      this.error = error instanceof ApiError ? error : new ApiError(0, { detail: String(error) })
    }
    this.loaded = true
    this.loading = false
  }
}
