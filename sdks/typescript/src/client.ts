/** Starts workflows and sends them signals and messages. */

import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

import { Backoff } from "./backoff.js";
import { MeantimeError, Unavailable } from "./errors.js";
import { Transport, type Json, type RequestOptions } from "./http.js";
import type { Instance, InstanceSummary, Page, Timer } from "./types.js";

const API = "/api/v1";

export interface StartOptions {
  version?: number;
  key?: string;
  /** An instant, or an ISO duration from now. */
  deadline?: string;
  tags?: string[];
  /** An ISO duration: the answer comes when the instance has ended or is idle. */
  wait?: string;
  /** Calls with the same key start one instance. Without one, each call has its own key. */
  idempotencyKey?: string;
}

export interface ClientOptions {
  token?: string;
  /** The timeout of one attempt; 30 seconds by default. */
  timeoutMs?: number;
  /** The number of attempts of a call; 4 by default. */
  attempts?: number;
}

/** Whether the call can be repeated without a second effect. */
interface Repeatable {
  repeatable?: boolean;
}

/** Idempotent methods. */
const REPEATABLE = new Set(["GET", "PUT", "DELETE"]);

export interface DeployOptions {
  contentType?: string;
  /** The name of a flow whose source does not contain one. */
  name?: string;
  dryRun?: boolean;
}

/**
 * A client of one server.
 *
 * When the server fails or cannot be reached, a call is repeated with back-off if a repetition has
 * no second effect: reads, deployments, cancellations, and starts and messages, which carry an
 * idempotency key. Signals have no such key: they are repeated only when the first attempt
 * certainly had no effect; otherwise `Unavailable` is thrown.
 */
export class Client {
  readonly #http: Transport;
  readonly #attempts: number;
  readonly #timeoutMs: number;

  constructor(url: string, options: ClientOptions = {}) {
    this.#http = new Transport(url, options.token);
    this.#attempts = options.attempts ?? 4;
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    if (!(this.#attempts >= 1) || !(this.#timeoutMs > 0)) {
      throw new MeantimeError("attempts and timeoutMs are above zero");
    }
  }

  /** Deploys a definition. */
  deploy(source: string, options: DeployOptions = {}): Promise<Json> {
    return this.#call("POST", `${API}/definitions`, undefined, {
      repeatable: true, // Identical content is the same version.
      text: source,
      headers: { "content-type": options.contentType ?? "text/javascript" },
      query: { name: options.name, dryRun: options.dryRun },
    });
  }

  /** Starts an instance: one call starts one instance, even if the request is repeated. */
  async start(definition: string, input?: Json, options: StartOptions = {}): Promise<Instance> {
    const { wait, idempotencyKey, ...rest } = options;
    const headers = { "idempotency-key": idempotencyKey ?? randomUUID() };
    const send = { query: { wait }, headers, repeatable: true };
    const body = { definition, input, ...rest };
    return (await this.#call("POST", `${API}/instances`, body, send)) as Instance;
  }

  /** An instance with its status, variables and what it waits for. */
  async instance(id: string): Promise<Instance> {
    return (await this.#call("GET", `${API}/instances/${part(id)}`)) as Instance;
  }

  /**
   * Instances, newest first; filters as in the HTTP API, a list for one that is given several
   * times. Reads page after page.
   */
  instances(filters: Record<string, string | string[]> = {}): AsyncGenerator<InstanceSummary> {
    return this.#pages<InstanceSummary>("/instances", filters);
  }

  /** The history of an instance. */
  history(id: string): AsyncGenerator<Json> {
    return this.#pages<Json>(`/instances/${part(id)}/history`, {});
  }

  /** Cancels an instance. Cancelling an ended instance changes nothing. */
  cancel(id: string, reason?: string): Promise<Json> {
    const path = `${API}/instances/${part(id)}/cancel`;
    return this.#call("POST", path, { reason }, { repeatable: true });
  }

  /**
   * Suspends an instance: its events wait until it is resumed. With `timers: "run"` its timers and
   * its deadline run on.
   */
  suspend(id: string, reason?: string, timers: "freeze" | "run" = "freeze"): Promise<Json> {
    const path = `${API}/instances/${part(id)}/suspend`;
    return this.#call("POST", path, { reason, timers }, { repeatable: true });
  }

  /** Resumes a suspended instance. */
  resume(id: string, reason?: string): Promise<Json> {
    const path = `${API}/instances/${part(id)}/resume`;
    return this.#call("POST", path, { reason }, { repeatable: true });
  }

  /** Sends a signal to an instance. */
  signal(id: string, name: string, payload: Json = null): Promise<Json> {
    const path = `${API}/instances/${part(id)}/signals/${part(name)}`;
    return this.#call("POST", path, payload);
  }

  /** Sends a signal to all instances that wait for it. */
  broadcast(name: string, payload: Json = null): Promise<Json> {
    return this.#call("POST", `${API}/signals/${part(name)}`, payload);
  }

  /**
   * Publishes a message. A second one with the same `id` is dropped; without an `id` a new one is
   * generated, so that one call publishes one message.
   */
  publish(
    name: string,
    payload?: Json,
    options: { correlationKey?: string; ttl?: string; id?: string } = {},
  ): Promise<Json> {
    const body = { name, payload, ...options, id: options.id ?? randomUUID() };
    return this.#call("POST", `${API}/messages`, body, { repeatable: true });
  }

  /** Armed timers and deadlines, in due order. */
  timers(filters: Record<string, string> = {}): AsyncGenerator<Timer> {
    return this.#pages<Timer>("/timers", filters);
  }

  /** Explains a timer, an occurrence, a task or an instance. */
  why(id: string): Promise<Json> {
    return this.#call("GET", `${API}/why/${part(id)}`);
  }

  /** Moves the virtual clock of a server that has one. */
  advanceClock(to: { by: string } | { to: string }): Promise<Json> {
    return this.#call("POST", `${API}/clock/advance`, to, { repeatable: "to" in to });
  }

  /** Any other operation of the HTTP API, by its path below `/api/v1`. */
  request(method: string, path: string, body?: Json, options?: RequestOptions): Promise<Json> {
    return this.#call(method, API + path, body, options);
  }

  async #call(
    method: string,
    path: string,
    body?: Json,
    { repeatable = REPEATABLE.has(method), ...options }: RequestOptions & Repeatable = {},
  ): Promise<Json> {
    const backoff = new Backoff();
    for (let left = this.#attempts - 1; ; left -= 1) {
      try {
        return await this.#http.request(method, path, body, {
          timeoutMs: this.#timeoutMs,
          ...options,
        });
      } catch (why) {
        if (!(why instanceof Unavailable) || options.signal?.aborted) throw why;
        const tooLong = (why.retryAfterMs ?? 0) > this.#timeoutMs;
        if (left <= 0 || tooLong || !(repeatable || why.unsent)) throw why;
        await pause(backoff.next(why.retryAfterMs));
      }
    }
  }

  async *#pages<T>(path: string, filters: Record<string, string | string[]>): AsyncGenerator<T> {
    let cursor: string | undefined;
    do {
      const query = { ...filters, cursor };
      const page = (await this.#call("GET", API + path, undefined, { query })) as Page<T>;
      yield* page.items;
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }
}

function part(text: string): string {
  return encodeURIComponent(text);
}
