/** Client and workers against the real server. */

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Client, TaskFailed, Worker } from "../src/index.js";
import { Server } from "./server.js";

const server = new Server();
before(() => server.start());
after(() => server.close());

test("the example runs", async () => {
  const example = join(dirname(fileURLToPath(import.meta.url)), "../examples/greeter.js");
  const { stdout } = await promisify(execFile)(process.execPath, [example, server.url]);
  assert.equal(stdout, "Hello, Ada!\n");
});

test("the README runs as it is written", async () => {
  // Here the package can be imported by its own name.
  const cwd = join(dirname(fileURLToPath(import.meta.url)), "../..");
  const text = readFileSync(join(cwd, "README.md"), "utf8");
  const blocks = [...text.matchAll(/^```ts\n\/\/ (\w+)\.mjs\n([^]*?)^```$/gm)];
  const code = new Map(blocks.map(([, name, it]) => [name, it?.replace("http://127.0.0.1:8088", server.url) ?? ""]));
  const run = (name: string) => ["--input-type=module", "-e", code.get(name) ?? ""];
  const worker = spawn(process.execPath, run("worker"), { cwd, stdio: "inherit" });
  const exited = once(worker, "exit");
  try {
    const { stdout } = await promisify(execFile)(process.execPath, run("start"), { cwd });
    assert.equal(stdout, "Hello, Ada!\n");
  } finally {
    worker.kill("SIGTERM");
  }
  assert.deepEqual(await exited, [0, null]);
});

test("large results all arrive, and a bad one fails alone", async () => {
  const client = new Client(server.url);
  const script = `
    let all = []
    for (let i = 0; i < 10; i += 1) { all.push(Task.run("make", "good")) }
    let sizes = []
    for (const it of await Promise.all(all)) { sizes.push(it.length) }
    let codes = []
    for (const bad of ["big", "nan", "large"]) {
      try { await Task.run("make", bad) } catch (error) { codes.push(error.code) }
    }
    return { sizes, codes }`;
  await client.deploy(script, { name: "makes" });
  const worker = new Worker(server.url, { pollMs: 1_000, concurrency: 20, log: () => undefined });
  const bad: Record<string, unknown> = { big: 1n, nan: Number.NaN, large: "x".repeat(2_000_000) };
  worker.task("make", (input: string) => bad[input] ?? "x".repeat(200_000));
  const working = worker.run();
  const instance = await client.start("makes", undefined, { wait: "PT20S" });
  worker.stop();
  await working;
  assert.deepEqual(instance.output, {
    sizes: Array.from({ length: 10 }, () => 200_000),
    codes: ["RESULT_NOT_JSON", "RESULT_NOT_JSON", "RESULT_TOO_LARGE"],
  });
});

test("a failure that is final reaches the flow", async () => {
  const client = new Client(server.url);
  await client.deploy('return await Task.run("refuse", Inputs)', { name: "refuses" });
  const worker = new Worker(server.url, { pollMs: 1_000 });
  worker.task("refuse", () => {
    throw new TaskFailed("over the limit", { code: "DECLINED", retryable: false });
  });
  const working = worker.run();
  const instance = await client.start("refuses", { amount: 7 }, { wait: "PT20S" });
  worker.stop();
  await working;
  assert.equal(instance.status, "failed");
  assert.equal(instance.error?.code, "DECLINED");
});

test("a worker survives a server that is killed", async () => {
  const client = new Client(server.url);
  await client.deploy('return await Task.run("double", Inputs)', { name: "doubles" });
  const worker = new Worker(server.url, { pollMs: 1_000 });
  worker.task("double", (input: { n: number }) => input.n * 2);
  const working = worker.run();
  const first = await client.start("doubles", { n: 2 }, { wait: "PT20S" });
  await server.kill();
  await server.start();
  const second = await client.start("doubles", { n: 4 }, { wait: "PT20S" });
  worker.stop();
  await working;
  assert.deepEqual([first.output, second.output], [4, 8]);
  assert.equal((await client.instance(first.id)).output, 4);
});
