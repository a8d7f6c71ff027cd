/**
 * Reports the results of tasks to the server until it has answered.
 *
 *     result ──> waiting ──> batches below the body limit ──> /tasks/complete
 *                       └──> failures with more than an error ──> /tasks/{id}/fail
 *
 * Results are collected while a report is in flight and sent together. A report that the server
 * does not answer is repeated with back-off; the lease token is a fence, so a second report has no
 * effect and is answered with `lease_lost`. A batch that fails repeatedly is halved, so that one
 * bad result cannot block the others. A result that the server rejects fails its own task.
 */

import { setTimeout as pause } from "node:timers/promises";

import { Backoff } from "./backoff.js";
import { Problem, Unavailable } from "./errors.js";
import { encode } from "./json.js";
import { final, type Outcome } from "./task.js";
import type { Failure } from "./types.js";

/** The most results in one report. */
const BATCH = 100;

/** The body of a batch around its results. */
const HEAD = '{"results":[';
const TAIL = "]}";
const FRAME = HEAD.length + TAIL.length;

/** Characters of an error's message that are kept when the error is too large. */
const MESSAGE_KEPT = 1_000;

/** A task whose result is to be reported. */
export interface Held {
  readonly id: string;
  readonly leaseToken: string;
  /** Aborted when the result is no longer needed. */
  readonly signal: AbortSignal;
  /** Whether the lease has expired, as far as the worker knows. */
  leaseEnded(): boolean;
}

interface Report {
  readonly task: Held;
  readonly body: string;
  readonly bytes: number;
  readonly isAlone: boolean;
  /** Whether it replaces a rejected result: then it is not replaced again. */
  readonly isReplaced: boolean;
  readonly told: () => void;
}

type Post = (path: string, body: string) => Promise<unknown>;

/** Reports results in batches. */
export class Reporter {
  readonly #post: Post;
  readonly #limit: number;
  readonly #log: (message: string) => void;
  #waiting: Report[] = [];
  #isSending = false;

  constructor(post: Post, maxBodyBytes: number, log: (message: string) => void) {
    this.#post = post;
    this.#limit = maxBodyBytes;
    this.#log = log;
  }

  /** Resolves when the server has answered, or when the outcome is no longer needed. */
  report(task: Held, outcome: Outcome): Promise<void> {
    return new Promise((told) => {
      if (task.signal.aborted) return told();
      task.signal.addEventListener("abort", () => told(), { once: true });
      this.#add(task, outcome, told, false);
    });
  }

  #add(task: Held, outcome: Outcome, told: () => void, isReplaced: boolean): void {
    const body = bodyOf(task, outcome);
    const bytes = Buffer.byteLength(body);
    const room = this.#limit - FRAME;
    if (bytes > room && !isReplaced) {
      this.#add(task, smaller(outcome, bytes, room), told, true);
      return;
    }
    this.#waiting.push({ task, body, bytes, isAlone: !isSimple(outcome), isReplaced, told });
    if (!this.#isSending) {
      this.#isSending = true;
      // Tasks that end at the same time are reported together.
      setImmediate(() => void this.#send());
    }
  }

  /**
   * Sends all waiting results, one round at a time, so that results are collected; a report that
   * has to be repeated does not delay the next round.
   */
  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batches = this.#take();
      await Promise.all(batches.map((batch) => new Promise<void>((tried) => this.#begin(batch, tried))));
    }
    this.#isSending = false;
  }

  /** Takes all waiting results: in batches, or singly where a batch cannot carry them. */
  #take(): Report[][] {
    const batches: Report[][] = [];
    let batch: Report[] = [];
    let size = FRAME;
    for (const report of this.#waiting.splice(0)) {
      if (report.isAlone) {
        batches.push([report]);
        continue;
      }
      if (batch.length === BATCH || size + report.bytes + 1 > this.#limit) {
        batches.push(batch);
        batch = [];
        size = FRAME;
      }
      batch.push(report);
      size += report.bytes + 1;
    }
    batches.push(batch);
    return batches.filter(({ length }) => length > 0);
  }

  /** Starts a delivery; `tried` is called after the first attempt. */
  #begin(batch: Report[], tried: () => void = () => undefined): void {
    this.#deliver(batch, tried)
      .catch((why: unknown) => {
        this.#log(`a report was given up: ${String(why)}`);
        for (const { told } of batch) told();
      })
      .finally(tried);
  }

  async #deliver(reports: Report[], tried: () => void): Promise<void> {
    const backoff = new Backoff();
    let batch = reports;
    for (let failures = 0; ; failures += 1) {
      batch = batch.filter(({ task }) => !task.signal.aborted);
      const [first] = batch;
      if (first === undefined) return;
      // Later failures may come from a single result.
      if (failures > 1 && batch.length > 1) return this.#halve(batch);
      let why = "not all results were heard";
      let after: number | undefined;
      try {
        batch = await this.#try(batch);
        if (batch.length === 0) return;
      } catch (error) {
        if (error instanceof Unavailable) {
          after = error.retryAfterMs;
        } else if (!(error instanceof Problem)) {
          throw error;
        } else if (batch.length > 1 && isAboutContent(error)) {
          return this.#halve(batch);
        } else if (batch.length === 1 && (isAboutContent(error) || isOver(error))) {
          return this.#settle(first, error.status, error.code, error.detail);
        } else {
          // A wrong token or a misrouting proxy: may be corrected while the lease lasts.
          batch = batch.filter((report) => !this.#isLost(report, error.message));
        }
        why = error.message;
      }
      this.#log(`${why}; reporting again`);
      tried();
      await pause(backoff.next(after));
    }
  }

  /** Sends a batch and returns the results without an answer. */
  async #try(batch: Report[]): Promise<Report[]> {
    const [first] = batch;
    if (first?.isAlone) {
      await this.#post(`/tasks/${encodeURIComponent(first.task.id)}/fail`, first.body);
      first.told();
      return [];
    }
    const body = HEAD + batch.map((report) => report.body).join(",") + TAIL;
    const heard = itemsOf(await this.#post("/tasks/complete", body));
    return batch.filter((report) => {
      const { status = 503, code = "", detail = "" } = heard.get(report.task.id) ?? {};
      if (status >= 500 || status === 408 || status === 429) return true;
      this.#settle(report, status, code, detail);
      return false;
    });
  }

  /** The server has decided about a result. */
  #settle(report: Report, status: number, code: string, detail: string): void {
    const { task, told } = report;
    if (status < 400) {
      told();
    } else if (status === 404 || status === 409 || status === 410) {
      // An earlier report of this attempt was accepted, or the task has ended without it.
      this.#log(`task ${task.id}: ${code}`);
      told();
    } else if (report.isReplaced) {
      this.#log(`task ${task.id}: its failure was refused: ${code} ${detail}`);
      told();
    } else {
      this.#log(`task ${task.id}: its result was refused: ${code} ${detail}`);
      const name = status === 413 ? "RESULT_TOO_LARGE" : "RESULT_REFUSED";
      const text = `the server refused the result: ${code}: ${detail}`;
      this.#add(task, { failure: final(name, text) }, told, true);
    }
  }

  #halve(batch: Report[]): void {
    const middle = Math.floor(batch.length / 2);
    this.#begin(batch.slice(0, middle));
    this.#begin(batch.slice(middle));
  }

  #isLost(report: Report, why: string): boolean {
    if (!report.task.leaseEnded()) return false;
    this.#log(`task ${report.task.id}: its result is lost with its lease: ${why}`);
    report.told();
    return true;
  }
}

/** Whether the batch report can carry it: an output, or an error and nothing else. */
function isSimple(outcome: Outcome): boolean {
  if (!("failure" in outcome)) return true;
  const names = Object.keys(outcome.failure);
  return names.length === 1 && names[0] === "error";
}

/** A result in a batch, or the body of `/fail`. */
function bodyOf({ id, leaseToken }: Held, outcome: Outcome): string {
  if (!("failure" in outcome)) {
    const head = encode({ id, leaseToken });
    return `${head.slice(0, -1)},"output":${encode(outcome.output)}}`;
  }
  const head = isSimple(outcome) ? { id, leaseToken } : { leaseToken };
  return encode({ ...head, ...outcome.failure });
}

/** The report that replaces a result which is too large for any report. */
function smaller(outcome: Outcome, bytes: number, limit: number): Outcome {
  const text = `a report of ${bytes} bytes is too large, ${limit} are allowed`;
  if (!("failure" in outcome) || !outcome.failure.error) {
    return { failure: final("RESULT_TOO_LARGE", text) };
  }
  // A failure keeps its code and loses its data.
  const { code, message } = outcome.failure.error;
  const error = {
    code: code.slice(0, MESSAGE_KEPT),
    message: `${(message ?? "").slice(0, MESSAGE_KEPT)} (shortened: ${text})`,
  };
  const failure: Failure = { ...outcome.failure, error };
  return { failure };
}

interface Item {
  id?: string;
  status?: number;
  code?: string;
  detail?: string;
}

function itemsOf(answer: unknown): Map<string, Item> {
  const results = (answer as { results?: unknown } | null | undefined)?.results;
  const items = Array.isArray(results) ? (results as (Item | null)[]) : [];
  return new Map(items.flatMap((it) => (typeof it?.id === "string" ? [[it.id, { status: 200, ...it }]] : [])));
}

/** Whether the server rejects the content, not the credentials or the address. */
function isAboutContent({ status }: Problem): boolean {
  return status === 400 || status === 413 || status === 415 || status === 422;
}

/**
 * Whether the server answers that this worker no longer holds the task. A 404 without the server's
 * own code comes from a proxy and does not count.
 */
export function isOver({ status, code }: Problem): boolean {
  return [404, 409, 410].includes(status) && code !== "unknown" && code !== "not_found";
}
