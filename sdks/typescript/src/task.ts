/** A claimed task and its outcome. */

import { BpmnError, NotJson, TaskFailed } from "./errors.js";
import { encode } from "./json.js";
import type { ClaimedTask, Failure } from "./types.js";

/** The task as its function sees it. */
export interface Task {
  readonly id: string;
  readonly type: string;
  readonly instanceId: string;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** The same in every attempt: pass it to other systems, so that they detect repetitions. */
  readonly idempotencyKey: string;
  /** The deadline of all attempts, if there is one. */
  readonly deadlineAt?: string | undefined;
  /** Static headers of the task's definition. */
  readonly headers: Readonly<Record<string, unknown>>;
  /** Aborted when the result is no longer needed, or the lease was lost. */
  readonly signal: AbortSignal;
}

/** Does a task: gets its input, returns its output. */
// The author chooses the types of input and output.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type TaskFunction = (input: any, task: Task) => unknown;

/** The outcome to report: an output, or a failure. */
export type Outcome = { output: unknown } | { failure: Failure };

export function taskOf(body: ClaimedTask, signal: AbortSignal): Task {
  const { id, type, instanceId, attempt, idempotencyKey } = body;
  const deadlineAt = body.deadlineAt ?? undefined;
  const headers = (body.headers ?? {}) as Record<string, unknown>;
  return { id, type, instanceId, attempt, idempotencyKey, deadlineAt, headers, signal };
}

/** The code of a task whose function returned something that is not JSON. */
const RESULT_NOT_JSON = "RESULT_NOT_JSON";

/** Calls a task function; anything it throws, and a result that is not JSON, becomes a failure. */
export async function perform(run: TaskFunction, input: unknown, task: Task): Promise<Outcome> {
  let output: unknown;
  try {
    output = await run(input, task);
  } catch (why) {
    return { failure: failure(why) };
  }
  const bad = notJson(output);
  if (bad === undefined) return { output };
  return { failure: final(RESULT_NOT_JSON, `the task function's result is not JSON: ${bad}`) };
}

/** The report of a failure that another attempt would only repeat. */
export function final(code: string, message: string): Failure {
  return { error: { code, message }, retryable: false };
}

/** The report of something thrown. It is always JSON. */
export function failure(why: unknown): Failure {
  if (why instanceof BpmnError) return thrown(why);
  if (why instanceof TaskFailed) {
    const { code = "TASK_FAILED", data, retryable, retryAfter } = why.options;
    const error: NonNullable<Failure["error"]> = { code: text(code), message: text(why.message) };
    const bad = notJson(data);
    if (bad !== undefined) {
      error.message += ` (its data was left out, it is not JSON: ${bad})`;
    } else if (data !== undefined) {
      error.data = data;
    }
    const report: Failure = { error };
    if (retryable === false) report.retryable = false;
    if (retryAfter !== undefined) report.retryAfter = text(retryAfter);
    return report;
  }
  try {
    if (why instanceof Error) return { error: { code: text(why.name), message: text(why.message) } };
  } catch {
    // Its properties may throw as well.
  }
  return { error: { code: "Error", message: text(why) } };
}

function thrown(why: BpmnError): Failure {
  const bpmnError: NonNullable<Failure["bpmnError"]> = { code: text(why.code) };
  if (why.text) bpmnError.message = text(why.text);
  if (why.variables) {
    const bad = notJson(why.variables);
    if (bad !== undefined) {
      // Without its variables it would not be the error that the process expects.
      const message = `the variables of BPMN error ${bpmnError.code} are not JSON: ${bad}`;
      return final(RESULT_NOT_JSON, message);
    }
    bpmnError.variables = why.variables;
  }
  return { bpmnError };
}

/** What is wrong with a value as JSON. */
function notJson(value: unknown): string | undefined {
  try {
    encode(value);
    return undefined;
  } catch (why) {
    return why instanceof NotJson ? why.message : "it cannot be read";
  }
}

/** A text for messages, even if the value's own methods throw. */
function text(value: unknown): string {
  try {
    return String(value);
  } catch {
    return `a ${typeof value} whose text cannot be had`;
  }
}
