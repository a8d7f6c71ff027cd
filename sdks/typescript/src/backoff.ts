/** Pauses between attempts. */

/** The first and the longest pause between two attempts. */
const PAUSE_MS = { first: 100, longest: 10_000 };

/** The longest `Retry-After` that is honoured: a wrong value must not stop a worker. */
const RETRY_AFTER_LONGEST_MS = 60_000;

/** Pauses that double, with jitter, so that many workers do not return at once. */
export class Backoff {
  #pause = PAUSE_MS.first;

  /** Starts again with the shortest pause. */
  reset(): void {
    this.#pause = PAUSE_MS.first;
  }

  /** The next pause in milliseconds: never shorter than the server's `Retry-After`. */
  next(retryAfterMs?: number): number {
    const wait = this.#pause * (0.5 + Math.random());
    this.#pause = Math.min(this.#pause * 2, PAUSE_MS.longest);
    if (retryAfterMs === undefined) return wait;
    const asked = Math.min(retryAfterMs, RETRY_AFTER_LONGEST_MS);
    return Math.max(wait, asked * (1 + 0.1 * Math.random()));
  }
}
