/** Starts workflows and talks to them. */

import { Transport, type Json, type RequestOptions } from "./http.js";
import type { Instance, Page, Summary, Timer } from "./types.js";

const API = "/api/v1";

export interface StartOptions {
  version?: number;
  key?: string;
  /** An instant, or an ISO duration from now. */
  deadline?: string;
  tags?: string[];
  /** An ISO duration: the answer comes when the instance has ended or needs something from outside. */
  wait?: string;
  idempotencyKey?: string;
}

export interface DeployOptions {
  contentType?: string;
  /** Names a flow that does not name itself. */
  name?: string;
  dryRun?: boolean;
}

/** A client of one server. */
export class Client {
  readonly #http: Transport;

  constructor(url: string, options: { token?: string } = {}) {
    this.#http = new Transport(url, options.token);
  }

  /** Deploys a definition. */
  deploy(source: string, options: DeployOptions = {}): Promise<Json> {
    return this.#http.request("POST", `${API}/definitions`, undefined, {
      text: source,
      headers: { "content-type": options.contentType ?? "text/javascript" },
      query: { name: options.name, dryRun: options.dryRun },
    });
  }

  /** Starts an instance. */
  async start(definition: string, input?: Json, options: StartOptions = {}): Promise<Instance> {
    const { wait, idempotencyKey, ...rest } = options;
    const send: RequestOptions = { query: { wait } };
    if (idempotencyKey !== undefined) send.headers = { "idempotency-key": idempotencyKey };
    const body = { definition, input, ...rest };
    return (await this.#http.request("POST", `${API}/instances`, body, send)) as Instance;
  }

  /** An instance with its status, variables and what it waits for. */
  async instance(id: string): Promise<Instance> {
    return (await this.#http.request("GET", `${API}/instances/${part(id)}`)) as Instance;
  }

  /** Instances, newest first; filters as in the HTTP API. Reads page after page. */
  instances(filters: Record<string, string> = {}): AsyncGenerator<Summary> {
    return this.#pages<Summary>("/instances", filters);
  }

  /** What happened to an instance. */
  history(id: string): AsyncGenerator<Json> {
    return this.#pages<Json>(`/instances/${part(id)}/history`, {});
  }

  /** Ends an instance. Cancelling what is over changes nothing. */
  cancel(id: string, reason?: string): Promise<Json> {
    return this.#http.request("POST", `${API}/instances/${part(id)}/cancel`, { reason });
  }

  /** Sends a signal to an instance. */
  signal(id: string, name: string, payload: Json = null): Promise<Json> {
    const path = `${API}/instances/${part(id)}/signals/${part(name)}`;
    return this.#http.request("POST", path, payload);
  }

  /** Sends a signal to everyone who waits for it. */
  broadcast(name: string, payload: Json = null): Promise<Json> {
    return this.#http.request("POST", `${API}/signals/${part(name)}`, payload);
  }

  /** Publishes a message. A second one with the same `id` is dropped. */
  publish(
    name: string,
    payload?: Json,
    options: { correlationKey?: string; ttl?: string; id?: string } = {},
  ): Promise<Json> {
    return this.#http.request("POST", `${API}/messages`, { name, payload, ...options });
  }

  /** Armed timers and deadlines, in due order. */
  timers(filters: Record<string, string> = {}): AsyncGenerator<Timer> {
    return this.#pages<Timer>("/timers", filters);
  }

  /** Explains a timer, an occurrence, a task or an instance. */
  why(id: string): Promise<Json> {
    return this.#http.request("GET", `${API}/why/${part(id)}`);
  }

  /** Moves a virtual clock; only servers that have one know this. */
  advanceClock(to: { by: string } | { to: string }): Promise<Json> {
    return this.#http.request("POST", `${API}/clock/advance`, to);
  }

  /** Any other operation of the HTTP API, by its path below `/api/v1`. */
  request(method: string, path: string, body?: Json, options?: RequestOptions): Promise<Json> {
    return this.#http.request(method, API + path, body, options);
  }

  async *#pages<T>(path: string, filters: Record<string, string>): AsyncGenerator<T> {
    let cursor: string | undefined;
    do {
      const query = { ...filters, cursor };
      const page = (await this.#http.request("GET", API + path, undefined, { query })) as Page<T>;
      yield* page.items;
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }
}

function part(text: string): string {
  return encodeURIComponent(text);
}
