/** Runs task functions without a server, for unit tests. */

import { MeantimeError } from "./errors.js";
import { perform, type Outcome, type Task } from "./task.js";
import type { Worker } from "./worker.js";

/** Runs the function of a task type with an input, as a worker would. */
export async function runTask(
  worker: Worker,
  type: string,
  input?: unknown,
  fields: Partial<Task> = {},
): Promise<Outcome> {
  const run = worker.functionOf(type);
  if (!run) {
    const known = worker.types.join(", ");
    throw new MeantimeError(`no function for the task type ${JSON.stringify(type)}; there are ${known}`);
  }
  const task: Task = {
    id: "tk_test",
    type,
    instanceId: "in_test",
    attempt: 1,
    idempotencyKey: "key_test",
    headers: {},
    signal: new AbortController().signal,
    ...fields,
  };
  return perform(run, input, task);
}
