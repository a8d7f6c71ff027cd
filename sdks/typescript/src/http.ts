/** JSON over HTTP with the platform's `fetch`. */

import { MeantimeError, Problem, Unavailable } from "./errors.js";
import { encode } from "./json.js";

export type Json = unknown;

export interface RequestOptions {
  query?: Record<string, string | string[] | number | boolean | undefined>;
  headers?: Record<string, string>;
  /** Sent unchanged, instead of JSON. */
  text?: string;
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** Error codes of connections that failed before anything was sent. */
const UNSENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

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
      init.body = encode(body);
    }
    if (init.body !== undefined) headers["content-type"] ??= "application/json";
    let answer: Response;
    let text: string;
    try {
      answer = await fetch(this.#base + path + queryText(options.query), init);
      text = await answer.text();
    } catch (why) {
      const { code, message } = cause(why);
      throw new Unavailable(`the server cannot be reached: ${message}`, undefined, UNSENT.has(code));
    }
    const { status } = answer;
    if (status >= 500 || status === 408 || status === 429) {
      const wait = retryAfterMs(answer.headers.get("retry-after"));
      throw new Unavailable(`the server answered ${status}`, wait, status === 429);
    }
    if (!answer.ok) throw new Problem(status, problem(text));
    try {
      return text === "" ? undefined : JSON.parse(text);
    } catch (why) {
      throw new Unavailable(`the answer is not JSON: ${(why as Error).message}`);
    }
  }
}

/** Milliseconds, from a number of seconds or from a date. */
function retryAfterMs(text: string | null): number | undefined {
  if (text === null || text.trim() === "") return undefined;
  const wait = /^[\d.]+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}

function limit(options: RequestOptions): AbortSignal {
  const time = AbortSignal.timeout(options.timeoutMs ?? 30_000);
  return options.signal ? AbortSignal.any([time, options.signal]) : time;
}

function queryText(query: RequestOptions["query"]): string {
  const given = Object.entries(query ?? {}).flatMap(([name, value]) =>
    [value].flat().filter((it) => it !== undefined).map((it) => [name, String(it)]),
  );
  return given.length === 0 ? "" : "?" + new URLSearchParams(given).toString();
}

function problem(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text);
    if (body !== null && typeof body === "object") return body as Record<string, unknown>;
  } catch {
    // A proxy may answer with something that is not JSON.
  }
  return { detail: text.slice(0, 200) };
}

function cause(why: unknown): { code: string; message: string } {
  if (!(why instanceof Error)) return { code: "", message: String(why) };
  const inner = why.cause instanceof Error ? why.cause : why;
  const code = "code" in inner ? String(inner.code) : "";
  return { code, message: inner.message || code };
}
