/** SIGINT and SIGTERM: the first stops a worker, the second ends the process. */

import { constants } from "node:os";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * The first signal calls `stop`; a second one, or the end of the grace period, ends the process with
 * the exit status of the signal (128 + its number). The returned function removes the handlers.
 */
export function onSignals(
  stop: () => void,
  graceMs: number,
  log: (message: string) => void,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  const end = (name: (typeof SIGNALS)[number], why: string) => {
    log(`the worker ends: ${why}`);
    process.exit(128 + constants.signals[name]);
  };
  const caught = (name: (typeof SIGNALS)[number]) => {
    if (timer !== undefined) return end(name, "a second signal");
    const why = `tasks still run after ${graceMs} ms of grace`;
    timer = setTimeout(() => end(name, why), graceMs);
    stop();
  };
  for (const name of SIGNALS) process.on(name, caught);
  return () => {
    clearTimeout(timer);
    for (const name of SIGNALS) process.off(name, caught);
  };
}
