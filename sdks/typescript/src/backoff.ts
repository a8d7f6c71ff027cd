/** How long to wait before something is tried again. */

/** The first and the longest pause between two tries. */
const PAUSE_MS = { first: 100, longest: 10_000 };

/** The longest `Retry-After` that is honoured: a wrong one must not switch a worker off. */
const RETRY_AFTER_LONGEST_MS = 60_000;

/** Pauses that double, with jitter, so that many workers do not come back at once. */
export class Backoff {
  #pause = PAUSE_MS.first;

  /** The next pause is the first one again. */
  reset(): void {
    this.#pause = PAUSE_MS.first;
  }

  /** The next pause in milliseconds: never shorter than what the server asked for. */
  next(retryAfterMs?: number): number {
    const wait = this.#pause * (0.5 + Math.random());
    this.#pause = Math.min(this.#pause * 2, PAUSE_MS.longest);
    if (retryAfterMs === undefined) return wait;
    const asked = Math.min(retryAfterMs, RETRY_AFTER_LONGEST_MS);
    return Math.max(wait, asked * (1 + 0.1 * Math.random()));
  }
}
