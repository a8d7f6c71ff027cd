/**
 * Claims tasks, runs functions, reports results.
 *
 * One claim waits at the server for as many tasks as there is room for. Results gather while a
 * report is under way and go out together. Leases of tasks that take long are extended; a task
 * whose lease is lost, or which the workflow does not want any more, is aborted.
 */

import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";

import { MeantimeError, Problem, Unavailable } from "./errors.js";
import { Transport } from "./http.js";
import { perform, taskOf, type Outcome, type TaskFunction } from "./task.js";
import type { ClaimedTask } from "./types.js";

const API = "/api/v1";

/** How many results one report carries. */
const BATCH = 100;

/** The first and the longest pause after the server could not be reached. */
const PAUSE_MS = { first: 100, longest: 10_000 };

export interface WorkerOptions {
  token?: string;
  name?: string;
  queues?: string[];
  /** Tasks at one time; 10 unless said otherwise. */
  concurrency?: number;
  /** How long a task is this worker's before it must be extended; a minute unless said otherwise. */
  leaseMs?: number;
  /** How long one claim waits for tasks; 20 seconds unless said otherwise. */
  pollMs?: number;
  /** Hears what goes wrong; writes to the console unless said otherwise. */
  log?: (message: string) => void;
}

interface Done {
  task: ClaimedTask;
  outcome: Outcome;
  told: () => void;
}

/** Does tasks. Register functions with `task`, then `run`. */
export class Worker {
  readonly name: string;
  readonly #http: Transport;
  readonly #options: Required<Omit<WorkerOptions, "token" | "name">>;
  readonly #functions = new Map<string, TaskFunction>();
  readonly #stop = new AbortController();
  readonly #active = new Set<Promise<void>>();
  #done: Done[] = [];
  #reporting: Promise<void> | undefined;

  constructor(url: string, options: WorkerOptions = {}) {
    const { concurrency = 10, leaseMs = 60_000, pollMs = 20_000 } = options;
    if (!(concurrency >= 1) || !(leaseMs > 0) || !(pollMs >= 0)) {
      throw new MeantimeError("concurrency and leaseMs are above zero, pollMs is not below it");
    }
    this.name = options.name ?? `${hostname()}-${process.pid}`;
    this.#http = new Transport(url, options.token);
    const log = options.log ?? ((message: string) => console.warn(`meantime: ${message}`));
    this.#options = { queues: options.queues ?? [], concurrency, leaseMs, pollMs, log };
  }

  /** The types of task this worker does. */
  get types(): string[] {
    return [...this.#functions.keys()].sort();
  }

  /** Registers a function for a type of task. */
  task(type: string, run: TaskFunction): this {
    if (this.#functions.has(type)) {
      throw new MeantimeError(`two functions for the task type ${JSON.stringify(type)}`);
    }
    this.#functions.set(type, run);
    return this;
  }

  /** The function of a type of task, for tests. */
  functionOf(type: string): TaskFunction | undefined {
    return this.#functions.get(type);
  }

  /** Works until `stop`, or SIGINT or SIGTERM when asked to; then finishes what is in hand. */
  async run(options: { signals?: boolean } = {}): Promise<void> {
    if (this.#functions.size === 0) throw new MeantimeError("no task function is registered");
    const stop = () => this.stop();
    const signals = options.signals ? (["SIGINT", "SIGTERM"] as const) : [];
    for (const name of signals) process.once(name, stop);
    try {
      await this.#claim();
      while (this.#active.size > 0) await Promise.all(this.#active);
    } finally {
      for (const name of signals) process.off(name, stop);
    }
  }

  /** No new tasks; what is in hand is finished. */
  stop(): void {
    this.#stop.abort();
  }

  async #claim(): Promise<void> {
    let wait = PAUSE_MS.first;
    while (!this.#stop.signal.aborted) {
      const room = this.#options.concurrency - this.#active.size;
      if (room <= 0) {
        await Promise.race(this.#active);
        continue;
      }
      try {
        // Tasks that a claim would bring to a worker which has left come back after their lease.
        const { tasks } = await this.#claimOnce(room);
        wait = PAUSE_MS.first;
        for (const task of tasks) this.#begin(task);
      } catch (why) {
        if (this.#stop.signal.aborted) return;
        if (!(why instanceof Unavailable)) throw why;
        this.#options.log(`${why.message}; trying again`);
        await this.#rest(why.retryAfterMs ?? jitter(wait));
        wait = Math.min(wait * 2, PAUSE_MS.longest);
      }
    }
  }

  async #claimOnce(max: number): Promise<{ tasks: ClaimedTask[] }> {
    const { queues, leaseMs, pollMs } = this.#options;
    const body = { worker: this.name, types: this.types, queues, max, leaseMs, waitMs: pollMs };
    const options = { timeoutMs: pollMs + 15_000, signal: this.#stop.signal };
    const answer = await this.#http.request("POST", `${API}/tasks/claim`, body, options);
    return answer as { tasks: ClaimedTask[] };
  }

  #begin(task: ClaimedTask): void {
    const active: Promise<void> = this.#do(task).finally(() => this.#active.delete(active));
    this.#active.add(active);
  }

  async #do(body: ClaimedTask): Promise<void> {
    const run = this.#functions.get(body.type);
    if (!run) return;
    const unwanted = new AbortController();
    const keeper = setInterval(() => void this.#extend(body, unwanted), this.#options.leaseMs / 3);
    try {
      const aborted = new Promise<undefined>((resolve) => {
        unwanted.signal.addEventListener("abort", () => resolve(undefined), { once: true });
      });
      const work = perform(run, body.input, taskOf(body, unwanted.signal));
      const outcome = await Promise.race([work, aborted]);
      if (outcome && !unwanted.signal.aborted) await this.#report(body, outcome);
    } finally {
      clearInterval(keeper);
    }
  }

  async #extend(task: ClaimedTask, unwanted: AbortController): Promise<void> {
    const body = { leaseToken: task.leaseToken, leaseMs: this.#options.leaseMs };
    const path = `${API}/tasks/${encodeURIComponent(task.id)}/extend`;
    try {
      await this.#http.request("POST", path, body);
    } catch (why) {
      this.#options.log(`task ${task.id}: ${(why as Error).message}`);
      if (why instanceof Problem) unwanted.abort();
    }
  }

  /** Resolves when the server has heard of the outcome. */
  #report(task: ClaimedTask, outcome: Outcome): Promise<void> {
    return new Promise((told) => {
      this.#done.push({ task, outcome, told });
      this.#reporting ??= this.#reportAll().finally(() => {
        this.#reporting = undefined;
      });
    });
  }

  async #reportAll(): Promise<void> {
    while (this.#done.length > 0) {
      const batch = this.#done.splice(0, BATCH);
      const together = batch.filter(({ outcome }) => isSimple(outcome));
      if (together.length > 0) {
        await this.#insist("/tasks/complete", { results: together.map(result) });
      }
      for (const { task, outcome } of batch) {
        if (isSimple(outcome) || !("failure" in outcome)) continue;
        const path = `/tasks/${encodeURIComponent(task.id)}/fail`;
        await this.#insist(path, { leaseToken: task.leaseToken, ...outcome.failure });
      }
      for (const { told } of batch) told();
    }
  }

  /** Reports until the server has heard it. A repeated report is harmless: the token fences. */
  async #insist(path: string, body: unknown): Promise<void> {
    for (let wait = PAUSE_MS.first; ; wait = Math.min(wait * 2, PAUSE_MS.longest)) {
      try {
        const answer = (await this.#http.request("POST", API + path, body)) as
          | { results?: { id: string; status?: number; code?: string }[] }
          | undefined;
        for (const item of answer?.results ?? []) {
          if ((item.status ?? 200) >= 400) this.#options.log(`task ${item.id}: ${item.code}`);
        }
        return;
      } catch (why) {
        if (!(why instanceof Unavailable)) {
          this.#options.log(`a report was refused: ${(why as Error).message}`);
          return;
        }
        this.#options.log(`${why.message}; reporting again`);
        await pause(why.retryAfterMs ?? jitter(wait));
      }
    }
  }

  async #rest(ms: number): Promise<void> {
    try {
      await pause(ms, undefined, { signal: this.#stop.signal });
    } catch {
      // Stopped while resting.
    }
  }
}

/** Whether the batch report can carry it: an output, or an error and nothing else. */
function isSimple(outcome: Outcome): boolean {
  if (!("failure" in outcome)) return true;
  const names = Object.keys(outcome.failure);
  return names.length === 1 && names[0] === "error";
}

function result({ task, outcome }: Done): Record<string, unknown> {
  const head = { id: task.id, leaseToken: task.leaseToken };
  if ("failure" in outcome) return { ...head, ...outcome.failure };
  return { ...head, output: outcome.output ?? null };
}

function jitter(ms: number): number {
  return ms * (0.5 + Math.random());
}
