// The TypeScript worker of the run: does what its input asks for and logs each execution.

import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

import { TaskFailed, Worker } from "../typescript/dist/index.js";

const [, , url, journal] = process.argv;
const options = { concurrency: 16, leaseMs: 2_000, pollMs: 1_000, log: () => undefined };
const worker = new Worker(url, options);

worker.task("fuzz", async (input, task) => {
  appendFileSync(journal, `begin ${task.id} ${task.headers.token}\n`);
  await pause(input.ms);
  appendFileSync(journal, `end ${task.id} ${task.headers.token}\n`);
  if (input.kind === "date") return { at: 1n };
  if (input.kind === "retry" && task.attempt === 1) {
    throw new TaskFailed("once more", { code: "AGAIN", retryAfter: "PT0S" });
  }
  return { n: input.n, pad: "x".repeat(input.bytes) };
});

await worker.run({ signals: true });
