/** Data of the API in a component: loaded when what it depends on changes, reloaded in place. */

import { untrack } from 'svelte'
import { ApiError } from './api'

export class Query<T> {
  /** The last good answer; it stays visible while the next one is under way. */
  data = $state.raw<T>()
  error = $state.raw<ApiError>()
  loading = $state(true)
  #fetch: (signal: AbortSignal) => Promise<T>
  #abort: AbortController | undefined

  constructor(fetch: (signal: AbortSignal) => Promise<T>) {
    this.#fetch = fetch
    $effect(() => {
      void this.#run()
      return () => this.#abort?.abort()
    })
  }

  reload = (): Promise<void> => untrack(() => this.#run())

  /** Changes the data where it is, for what an event or an answer says. */
  patch(change: (data: T) => T): void {
    if (this.data !== undefined) this.data = change(this.data)
  }

  async #run(): Promise<void> {
    this.#abort?.abort()
    const abort = new AbortController()
    this.#abort = abort
    // Called synchronously, so that the effect sees what the request depends on.
    const answer = this.#fetch(abort.signal)
    untrack(() => (this.loading = true))
    try {
      const data = await answer
      if (abort.signal.aborted) return
      this.data = data
      this.error = undefined
    } catch (error) {
      if (abort.signal.aborted) return
      this.error = error instanceof ApiError ? error : new ApiError(0, { detail: String(error) })
    }
    this.loading = false
  }
}
