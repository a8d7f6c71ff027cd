/** A server that plays a script: answers paths with functions and remembers what it is told. */

import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Call {
  method: string;
  path: string;
  // Tests know what they sent.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  body: any;
  headers: IncomingHttpHeaders;
}

type Answer = (body: Call["body"]) => [number, unknown] | Promise<[number, unknown]>;

export class FakeServer {
  readonly calls: Call[] = [];
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
        const text = Buffer.concat(parts).toString();
        const isJson = (request.headers["content-type"] ?? "").includes("json");
        const path = request.url ?? "";
        const body: unknown = text && isJson ? JSON.parse(text) : text;
        fake.calls.push({ method: request.method ?? "", path, body, headers: request.headers });
        fake.#waiting.splice(0).forEach((wake) => wake());
        const unknown: Answer = () => [404, { code: "not_found" }];
        const answer = fake.#answers.get(path.split("?")[0] ?? "") ?? unknown;
        void Promise.resolve(answer(body)).then(([status, json]) => {
          response.writeHead(status, { "content-type": "application/json" });
          response.end(json === undefined ? "" : JSON.stringify(json));
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

  /** The body of the first call of a path, as soon as there is one. */
  async waitFor(path: string): Promise<Call["body"]> {
    for (;;) {
      const call = this.calls.find((it) => it.path.split("?")[0] === path);
      if (call) return call.body;
      await new Promise<void>((wake) => this.#waiting.push(wake));
    }
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** Hands out tasks once each; then claims wait for ever. */
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
