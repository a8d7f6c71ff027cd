/** JSON over HTTP with the platform's `fetch`. */

import { MeantimeError, Problem, Unavailable } from "./errors.js";

export type Json = unknown;

export interface RequestOptions {
  query?: Record<string, string | number | boolean | undefined>;
  headers?: Record<string, string>;
  /** Sent as it is, instead of JSON. */
  text?: string;
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** Answers that ask to come back later. */
const LATER = new Set([429, 502, 503, 504]);

/** Sends requests to one server. */
export class Transport {
  readonly #base: string;
  readonly #token: string | undefined;

  constructor(url: string, token?: string) {
    if (!/^https?:\/\/[^/]/.test(url)) {
      throw new MeantimeError(`not the address of a server: ${JSON.stringify(url)}`);
    }
    this.#base = url.replace(/\/+$/, "");
    this.#token = token;
  }

  /** The JSON of a 2xx answer, or undefined when it is empty. */
  async request(
    method: string,
    path: string,
    body?: Json,
    options: RequestOptions = {},
  ): Promise<Json> {
    const headers: Record<string, string> = { accept: "application/json", ...options.headers };
    if (this.#token) headers["authorization"] = `Bearer ${this.#token}`;
    const init: RequestInit = { method, headers, signal: limit(options) };
    if (options.text !== undefined) {
      init.body = options.text;
    } else if (body !== undefined) {
      headers["content-type"] ??= "application/json";
      init.body = JSON.stringify(body);
    }
    let answer: Response;
    let text: string;
    try {
      answer = await fetch(this.#base + path + queryText(options.query), init);
      text = await answer.text();
    } catch (why) {
      throw new Unavailable(`the server cannot be reached: ${cause(why)}`);
    }
    if (LATER.has(answer.status)) {
      const seconds = Number(answer.headers.get("retry-after") ?? Number.NaN);
      const wait = Number.isFinite(seconds) ? seconds * 1000 : undefined;
      throw new Unavailable(`the server answered ${answer.status}`, wait);
    }
    if (!answer.ok) throw new Problem(answer.status, problem(text));
    return text === "" ? undefined : JSON.parse(text);
  }
}

function limit(options: RequestOptions): AbortSignal {
  const time = AbortSignal.timeout(options.timeoutMs ?? 30_000);
  return options.signal ? AbortSignal.any([time, options.signal]) : time;
}

function queryText(query: RequestOptions["query"]): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  if (given.length === 0) return "";
  return "?" + new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}

function problem(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text);
    if (body !== null && typeof body === "object") return body as Record<string, unknown>;
  } catch {
    // A proxy may answer with something else than JSON.
  }
  return { detail: text.slice(0, 200) };
}

function cause(why: unknown): string {
  if (!(why instanceof Error)) return String(why);
  return why.cause instanceof Error ? why.cause.message : why.message;
}
