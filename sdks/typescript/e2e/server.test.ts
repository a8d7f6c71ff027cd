/** Client and workers against the real server. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
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
