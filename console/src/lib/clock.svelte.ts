/** The time of the engine: that of this machine, or a virtual clock that somebody advances. */

import { api, ApiError, data } from './api'
import { live } from './live.svelte'

class EngineClock {
  virtual = $state(false)
  now = $state(Date.now())
  #timer: ReturnType<typeof setInterval> | undefined

  /** Asks once which clock the engine has. */
  async start(): Promise<void> {
    try {
      const clock = await data(api.GET('/api/v1/clock'))
      this.virtual = true
      this.now = Date.parse(clock.now)
      // Somebody else may advance it: what happens tells the time.
      live.subscribe({}, (turn) => this.atLeast(Date.parse(turn.at)))
    } catch (error) {
      if (error instanceof ApiError && error.code !== 'clock_not_virtual') return
      this.#timer ??= setInterval(() => (this.now = Date.now()), 1000)
    }
  }

  atLeast(now: number): void {
    if (this.virtual && now > this.now) this.now = now
  }

  async advance(by: { by?: string; to?: string }): Promise<number> {
    const done = await data(api.POST('/api/v1/clock/advance', { body: by }))
    this.now = Date.parse(done.now)
    live.refresh()
    return done.fired
  }
}

export const clock = new EngineClock()
