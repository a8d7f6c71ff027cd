/** What ends a worker, and what does not. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, test } from "node:test";

import { FakeServer, task, tasks } from "./fake-server.js";
import { CLAIM, server as start, withoutPauses, work } from "./working.js";

let server: FakeServer;
let restore: () => void;

beforeEach(async () => {
  server = await start();
  server.on("/api/v1/tasks/tk_1/extend", () => [200, {}]);
  restore = withoutPauses();
});

afterEach(() => {
  restore();
  server.close();
});

class Hostile extends Error {
  override get message(): string {
    throw new Error("no text");
  }
}

/** What functions may throw, and the reported code. */
const THROWN: [unknown, string][] = [
  [undefined, "Error"],
  [null, "Error"],
  ["text", "Error"],
  [Object.create(null), "Error"],
  [Symbol("s"), "Error"],
  [new Hostile(), "Error"],
  [new DOMException("aborted", "AbortError"), "AbortError"],
];

test("whatever a function throws is a failed attempt", async () => {
  const count = THROWN.length * 2 + 1;
  await work(server, count, (number: number) => {
    if (number === count) return "good";
    const thrown = THROWN[Math.floor((number - 1) / 2)]?.[0];
    if (number % 2 === 0) return Promise.reject(thrown);
    throw thrown;
  });
  const results = server.results();
  assert.equal(results.get(`tk_${count}`).output, "good");
  for (let number = 1; number < count; number += 1) {
    const { error } = results.get(`tk_${number}`);
    assert.equal(error.code, THROWN[Math.floor((number - 1) / 2)]?.[1]);
    assert.equal(typeof error.message, "string");
  }
});

const CHILD = `
const { Worker } = await import(process.argv[1]);
class Told extends Worker {
  stop() {
    super.stop();
    console.log("stopping");
  }
}
const worker = new Told(process.argv[2], { graceMs: Number(process.argv[3]) });
worker.task("finishes", () => {
  console.log("running");
  return new Promise((done) => process.stdin.once("data", (text) => {
    process.stdin.destroy();
    done(String(text).trim());
  }));
});
worker.task("never", () => {
  console.log("running");
  return new Promise(() => undefined);
});
worker.task("exits", () => {
  console.log("running");
  process.exit(3);
});
await worker.run({ signals: true });
console.log("left");
`;

function child(type: string, graceMs: number) {
  server.on(CLAIM, tasks(task(1, type)));
  const library = new URL("../src/index.js", import.meta.url).href;
  const started = spawn(
    process.execPath,
    ["--input-type=module", "-e", CHILD, library, server.url, String(graceMs)],
    { stdio: ["pipe", "pipe", "pipe"] },
  );
  let errors = "";
  started.stderr.on("data", (text) => (errors += String(text)));
  const lines = createInterface({ input: started.stdout })[Symbol.asyncIterator]();
  const exited = once(started, "close").then(([code]) => code as number);
  const line = async () => (await lines.next()).value as string | undefined;
  return { started, line, exited, errors: () => errors };
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`the first ${signal} lets running tasks finish`, async () => {
    const { started, line, exited, errors } = child("finishes", 60_000);
    assert.equal(await line(), "running");
    started.kill(signal);
    assert.equal(await line(), "stopping");
    started.stdin.write("done\n");
    assert.equal(await line(), "left");
    assert.equal(await exited, 0, errors());
    assert.equal(server.results().get("tk_1").output, "done");
  });
}

test("a second signal ends the process", async () => {
  const { started, line, exited, errors } = child("never", 60_000);
  assert.equal(await line(), "running");
  started.kill("SIGTERM");
  assert.equal(await line(), "stopping");
  started.kill("SIGTERM");
  assert.equal(await exited, 128 + 15);
  assert.match(errors(), /a second signal/);
});

test("the end of the grace period ends the process", async () => {
  const { started, line, exited, errors } = child("never", 100);
  assert.equal(await line(), "running");
  started.kill("SIGINT");
  assert.equal(await exited, 128 + 2);
  assert.match(errors(), /tasks still run after 100 ms of grace/);
});

test("a function that ends the process ends the worker with it", async () => {
  const { line, exited } = child("exits", 60_000);
  assert.equal(await line(), "running");
  assert.equal(await exited, 3);
  assert.equal(server.results().size, 0);
});
