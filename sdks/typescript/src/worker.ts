/**
 * Claims tasks, runs functions, reports results.
 *
 * One claim waits at the server for as many tasks as the worker has room for. Leases are extended
 * until the result is acknowledged; a task whose lease is lost, or which the workflow no longer
 * needs, is aborted. If the server fails or cannot be reached, the claim is repeated with back-off:
 * only a configuration error, which the first claim shows, ends a worker.
 */

import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";

import { Backoff } from "./backoff.js";
import { MeantimeError, Problem, Unavailable } from "./errors.js";
import { Transport, type RequestOptions } from "./http.js";
import { Reporter, isOver, type Held } from "./report.js";
import { onSignals } from "./signals.js";
import { perform, taskOf, type Outcome, type TaskFunction } from "./task.js";
import type { ClaimedTask } from "./types.js";

const API = "/api/v1";

/** The timeout of an answer; a claim adds the time that it waits for tasks. */
const TIMEOUT_MS = 15_000;

export interface WorkerOptions {
  token?: string;
  name?: string;
  queues?: string[];
  /** The number of tasks at one time; 10 by default. */
  concurrency?: number;
  /** The duration of a lease, after which it must be extended; a minute by default. */
  leaseMs?: number;
  /** How long one claim waits for tasks; 20 seconds by default. */
  pollMs?: number;
  /** How long running tasks may take after a signal; 25 seconds by default. */
  graceMs?: number;
  /** The largest request that the server accepts; 1 MiB by default. */
  maxBodyBytes?: number;
  /** Called for errors and warnings; writes to the console by default. */
  log?: (message: string) => void;
}

/** Runs tasks. Register functions with `task`, then `run`. */
export class Worker {
  readonly name: string;
  readonly #http: Transport;
  readonly #options: Required<Omit<WorkerOptions, "token" | "name">>;
  readonly #functions = new Map<string, TaskFunction>();
  readonly #stop = new AbortController();
  readonly #active = new Set<Promise<void>>();
  readonly #reporter: Reporter;

  constructor(url: string, options: WorkerOptions = {}) {
    const { concurrency = 10, leaseMs = 60_000, pollMs = 20_000 } = options;
    const { graceMs = 25_000, maxBodyBytes = 1 << 20 } = options;
    if (!(concurrency >= 1) || !(leaseMs > 0) || !(pollMs >= 0)) {
      throw new MeantimeError("concurrency and leaseMs are above zero, pollMs is not below it");
    }
    if (!(graceMs >= 0) || !(maxBodyBytes >= 10_000)) {
      throw new MeantimeError("graceMs is not below zero, maxBodyBytes is at least 10,000");
    }
    this.name = options.name ?? `${hostname()}-${process.pid}`;
    this.#http = new Transport(url, options.token);
    const log = options.log ?? ((message: string) => console.warn(`meantime: ${message}`));
    const { queues = [] } = options;
    this.#options = { queues, concurrency, leaseMs, pollMs, graceMs, maxBodyBytes, log };
    const post = (path: string, body: string) => this.#call(path, body);
    this.#reporter = new Reporter(post, maxBodyBytes, log);
  }

  /** The task types of this worker. */
  get types(): string[] {
    return [...this.#functions.keys()].sort();
  }

  /** Registers a function for a task type. */
  task(type: string, run: TaskFunction): this {
    if (this.#functions.has(type)) {
      throw new MeantimeError(`two functions for the task type ${JSON.stringify(type)}`);
    }
    this.#functions.set(type, run);
    return this;
  }

  /** The function of a task type, for tests. */
  functionOf(type: string): TaskFunction | undefined {
    return this.#functions.get(type);
  }

  /**
   * Works until `stop`, or SIGINT or SIGTERM when asked to; then finishes the running tasks. A second
   * signal, or the end of the grace period, ends the process.
   */
  async run(options: { signals?: boolean } = {}): Promise<void> {
    if (this.#functions.size === 0) throw new MeantimeError("no task function is registered");
    const { graceMs, log } = this.#options;
    const quiet = options.signals ? onSignals(() => this.stop(), graceMs, log) : () => undefined;
    try {
      await this.#claim();
      while (this.#active.size > 0) await Promise.all(this.#active);
    } finally {
      quiet();
    }
  }

  /** Claims no new tasks and finishes the running ones. */
  stop(): void {
    this.#stop.abort();
  }

  async #claim(): Promise<void> {
    const backoff = new Backoff();
    let isAnswered = false;
    while (!this.#stop.signal.aborted) {
      const room = this.#options.concurrency - this.#active.size;
      if (room <= 0) {
        await Promise.race(this.#active);
        continue;
      }
      let after: number | undefined;
      try {
        // Tasks of an aborted claim are offered again after their lease.
        for (const task of await this.#claimOnce(room)) this.#begin(task);
        isAnswered = true;
        backoff.reset();
        continue;
      } catch (why) {
        if (this.#stop.signal.aborted) return;
        // The first answer shows whether address, token and types are right.
        const isPassing = why instanceof Unavailable || (why instanceof Problem && isAnswered);
        if (!isPassing) throw why;
        this.#options.log(`${why.message}; trying again`);
        if (why instanceof Unavailable) after = why.retryAfterMs;
      }
      await this.#rest(backoff.next(after), this.#stop.signal);
    }
  }

  async #claimOnce(max: number): Promise<ClaimedTask[]> {
    const { queues, leaseMs, pollMs } = this.#options;
    const body = { worker: this.name, types: this.types, queues, max, leaseMs, waitMs: pollMs };
    const options = { timeoutMs: pollMs + TIMEOUT_MS, signal: this.#stop.signal };
    const answer = await this.#http.request("POST", `${API}/tasks/claim`, body, options);
    const tasks = (answer as { tasks?: unknown } | null | undefined)?.tasks;
    if (!Array.isArray(tasks)) throw new Unavailable("the answer to a claim cannot be read");
    return tasks as ClaimedTask[];
  }

  #begin(task: ClaimedTask): void {
    const active: Promise<void> = this.#do(task)
      .catch((why: unknown) => this.#options.log(`task ${task.id}: ${String(why)}`))
      .finally(() => this.#active.delete(active));
    this.#active.add(active);
  }

  async #do(body: ClaimedTask): Promise<void> {
    const unwanted = new AbortController();
    const over = new AbortController();
    let leaseEnds = performance.now() + this.#options.leaseMs;
    const extended = () => {
      leaseEnds = performance.now() + this.#options.leaseMs;
    };
    const held: Held = {
      id: body.id,
      leaseToken: body.leaseToken,
      signal: unwanted.signal,
      leaseEnded: () => performance.now() >= leaseEnds,
    };
    const keeping = this.#keep(held, over.signal, extended, () => unwanted.abort());
    try {
      const aborted = new Promise<undefined>((resolve) => {
        unwanted.signal.addEventListener("abort", () => resolve(undefined), { once: true });
      });
      const outcome = await Promise.race([this.#perform(body, unwanted.signal), aborted]);
      if (outcome) await this.#reporter.report(held, outcome);
    } finally {
      over.abort();
      await keeping;
    }
  }

  async #perform(body: ClaimedTask, signal: AbortSignal): Promise<Outcome> {
    const run = this.#functions.get(body.type);
    if (run) return perform(run, body.input, taskOf(body, signal));
    const error = { code: "UNKNOWN_TASK_TYPE", message: `no function for ${JSON.stringify(body.type)}` };
    return { failure: { error } };
  }

  /** Extends the lease until the result is acknowledged; aborts the task if the lease is lost. */
  async #keep(task: Held, over: AbortSignal, extended: () => void, lost: () => void): Promise<void> {
    const { leaseMs, log } = this.#options;
    const every = leaseMs / 3;
    const body = JSON.stringify({ leaseToken: task.leaseToken, leaseMs });
    const path = `/tasks/${encodeURIComponent(task.id)}/extend`;
    // A request that hangs must leave time for others before the lease ends.
    const timeoutMs = Math.max(1_000, Math.min(TIMEOUT_MS, every));
    const backoff = new Backoff();
    let wait = every;
    for (;;) {
      await this.#rest(wait, over);
      if (over.aborted) return;
      try {
        await this.#call(path, body, { timeoutMs, signal: over });
        extended();
        backoff.reset();
        wait = every;
      } catch (why) {
        if (over.aborted) return;
        log(`task ${task.id}: ${(why as Error).message}`);
        if (why instanceof Problem && isOver(why)) return lost();
        const after = why instanceof Unavailable ? why.retryAfterMs : undefined;
        wait = Math.min(every, backoff.next(after));
      }
    }
  }

  #call(path: string, text: string, options: RequestOptions = {}): Promise<unknown> {
    const send = { timeoutMs: TIMEOUT_MS, ...options, text };
    return this.#http.request("POST", API + path, undefined, send);
  }

  async #rest(ms: number, until: AbortSignal): Promise<void> {
    try {
      await pause(ms, undefined, { signal: until });
    } catch {
      // The task has ended.
    }
  }
}
