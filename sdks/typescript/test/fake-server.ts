/** A scripted server: answers paths with functions and records the requests. */

import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Call {
  method: string;
  path: string;
  // Tests know the types of their own bodies.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  body: any;
  headers: IncomingHttpHeaders;
}

/** A status, JSON, optional headers. A string is sent unchanged; a larger length truncates it. */
export type Told = [number, unknown, Record<string, string>?];

export type Answer = (body: Call["body"]) => Told | Promise<Told>;

/** No answer: the connection is closed instead. */
export const DROPPED: Told = [0, undefined];

export class FakeServer {
  readonly calls: Call[] = [];
  /** The same as the real server's. */
  maxBodyBytes = 1 << 20;
  readonly #answers = new Map<string, Answer>();
  #waiting: (() => void)[] = [];
  #server!: Server;
  url = "";

  static async start(): Promise<FakeServer> {
    const fake = new FakeServer();
    fake.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("end", () => {
        const bytes = Buffer.concat(parts);
        const text = bytes.toString();
        const isJson = (request.headers["content-type"] ?? "").includes("json");
        const path = request.url ?? "";
        const tooLarge: Answer = () => [413, { code: "too_large" }];
        const unknown: Answer = () => [404, { code: "not_found" }];
        let answer = fake.#answers.get(path.split("?")[0] ?? "") ?? unknown;
        const body: unknown = text && isJson ? JSON.parse(text) : text;
        if (bytes.length > fake.maxBodyBytes) {
          answer = tooLarge;
        } else {
          fake.calls.push({ method: request.method ?? "", path, body, headers: request.headers });
        }
        fake.#wake();
        void Promise.resolve(answer(body)).then(([status, json, headers]) => {
          fake.#wake();
          if (status === 0) {
            request.socket.destroy();
            return;
          }
          const payload = typeof json === "string" ? json : json === undefined ? "" : JSON.stringify(json);
          const length = headers?.["content-length"] ?? String(Buffer.byteLength(payload));
          response.writeHead(status, {
            "content-type": "application/json",
            ...headers,
            "content-length": length,
          });
          response.write(payload, () => {
            if (length === String(Buffer.byteLength(payload))) response.end();
            else request.socket.destroy();
          });
          if (payload === "") response.end();
        });
      });
    });
    await new Promise<void>((ready) => fake.#server.listen(0, "127.0.0.1", ready));
    fake.url = `http://127.0.0.1:${(fake.#server.address() as AddressInfo).port}`;
    return fake;
  }

  on(path: string, answer: Answer): void {
    this.#answers.set(path, answer);
  }

  #wake(): void {
    this.#waiting.splice(0).forEach((wake) => wake());
  }

  /** Resolves when a condition is true; it is checked after every call. */
  async waitUntil(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise<void>((wake) => this.#waiting.push(wake));
  }

  /** Waits for the first call of a path and returns its body. */
  async waitFor(path: string): Promise<Call["body"]> {
    await this.waitUntil(() => this.bodies(path).length > 0);
    return this.bodies(path)[0];
  }

  /** The bodies of all calls of a path. */
  bodies(path: string): Call["body"][] {
    return this.calls.filter((it) => it.path.split("?")[0] === path).map(({ body }) => body);
  }

  /** The results of all batch reports, by task; a repeated one counts once. */
  results(): Map<string, Call["body"]> {
    const reports = this.bodies("/api/v1/tasks/complete");
    return new Map(reports.flatMap(({ results }) => results.map((it: { id: string }) => [it.id, it])));
  }

  /** The bodies of all single failures, by task. */
  failures(): Map<string, Call["body"]> {
    const calls = this.calls.filter(({ path }) => path.endsWith("/fail"));
    return new Map(calls.map(({ path, body }) => [path.split("/").at(-2) ?? "", body]));
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** Accepts all results of a report. */
export function allGood(body: { results: { id: string }[] }): Told {
  return [200, { results: body.results.map(({ id }) => ({ id, status: 200 })) }];
}

/** Gives each task to one claim; later claims wait for ever. */
export function tasks(...left: Record<string, unknown>[]): Answer {
  return (body: { max: number }) => {
    const given = left.splice(0, body.max);
    return given.length > 0 ? [200, { tasks: given }] : new Promise(() => undefined);
  };
}

/** A task as the server sends it. */
export function task(number: number, type = "work", input: unknown = null) {
  return {
    id: `tk_${number}`,
    type,
    instanceId: "in_1",
    input,
    attempt: 1,
    leaseToken: `1.${number}`,
    leaseUntil: "2026-01-01T00:00:00Z",
    idempotencyKey: `key-${number}`,
  };
}
