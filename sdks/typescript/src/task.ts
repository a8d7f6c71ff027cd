/** A task in a worker's hands, and what becomes of it. */

import { BpmnError, TaskFailed } from "./errors.js";
import type { ClaimedTask, Failure } from "./types.js";

/** What a task function may know of its task. */
export interface Task {
  readonly id: string;
  readonly type: string;
  readonly instanceId: string;
  /** Which attempt this is, from 1. */
  readonly attempt: number;
  /** The same in every attempt: give it to other systems, so that they can tell a repetition. */
  readonly idempotencyKey: string;
  /** When all attempts must be over, if there is a limit. */
  readonly deadlineAt?: string | undefined;
  /** Static headers of the task's definition. */
  readonly headers: Readonly<Record<string, unknown>>;
  /** Aborted when the result is not wanted any more, or the lease was lost. */
  readonly signal: AbortSignal;
}

/** Does a task: gets its input, returns its output. */
// The types of input and output are the author's business.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type TaskFunction = (input: any, task: Task) => unknown;

/** What is reported: an output, or a failure. */
export type Outcome = { output: unknown } | { failure: Failure };

export function taskOf(body: ClaimedTask, signal: AbortSignal): Task {
  const { id, type, instanceId, attempt, idempotencyKey } = body;
  const deadlineAt = body.deadlineAt ?? undefined;
  const headers = (body.headers ?? {}) as Record<string, unknown>;
  return { id, type, instanceId, attempt, idempotencyKey, deadlineAt, headers, signal };
}

/** Calls a task function; whatever it throws becomes a failure. */
export async function perform(run: TaskFunction, input: unknown, task: Task): Promise<Outcome> {
  try {
    return { output: await run(input, task) };
  } catch (why) {
    return { failure: failure(why) };
  }
}

/** The report of something thrown. */
export function failure(why: unknown): Failure {
  if (why instanceof BpmnError) {
    const thrown: NonNullable<Failure["bpmnError"]> = { code: why.code };
    if (why.text) thrown.message = why.text;
    if (why.variables) thrown.variables = why.variables;
    return { bpmnError: thrown };
  }
  if (why instanceof TaskFailed) {
    const { code = "TASK_FAILED", data, retryable, retryAfter } = why.options;
    const report: Failure = { error: { code, message: why.message } };
    if (data !== undefined && report.error) report.error.data = data;
    if (retryable === false) report.retryable = false;
    if (retryAfter !== undefined) report.retryAfter = retryAfter;
    return report;
  }
  if (why instanceof Error) return { error: { code: why.name, message: why.message } };
  return { error: { code: "Error", message: String(why) } };
}
