import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { BpmnError, MeantimeError, TaskFailed, Worker, type WorkerOptions } from "../src/index.js";
import { runTask } from "../src/testing.js";
import { FakeServer, allGood, task, tasks } from "./fake-server.js";

const CLAIM = "/api/v1/tasks/claim";
const COMPLETE = "/api/v1/tasks/complete";
const FAIL = "/api/v1/tasks/tk_1/fail";

let server: FakeServer;

beforeEach(async () => {
  server = await FakeServer.start();
  server.on(COMPLETE, allGood);
  server.on(FAIL, () => [200, {}]);
});

afterEach(() => server.close());

function worker(options: WorkerOptions = {}): Worker {
  return new Worker(server.url, { log: () => undefined, ...options });
}

async function workUntil(works: Worker, path: string) {
  const running = works.run();
  const body = await server.waitFor(path);
  works.stop();
  await running;
  return body;
}

test("results are reported with what the function was given", async () => {
  server.on(CLAIM, tasks(task(1, "add", 20), task(2, "look")));
  const works = worker({ token: "mt_secret", name: "w", queues: ["q"], concurrency: 2 });
  works.task("add", (number: number) => number + 1);
  works.task("look", async (_, { attempt, idempotencyKey }) => [attempt, idempotencyKey]);
  await workUntil(works, COMPLETE);
  const reports = server.calls.filter((it) => it.path === COMPLETE);
  const results = reports.flatMap((it) => it.body.results);
  assert.deepEqual(results, [
    { id: "tk_1", leaseToken: "1.1", output: 21 },
    { id: "tk_2", leaseToken: "1.2", output: [1, "key-2"] },
  ]);
  const claim = server.calls[0];
  assert.equal(claim?.headers["authorization"], "Bearer mt_secret");
  assert.deepEqual(claim?.body, {
    worker: "w",
    types: ["add", "look"],
    queues: ["q"],
    max: 2,
    leaseMs: 60_000,
    waitMs: 20_000,
  });
});

test("an error is retryable unless the function says otherwise", async () => {
  server.on(CLAIM, tasks(task(1)));
  const works = worker();
  works.task("work", () => {
    throw new RangeError("too much");
  });
  const error = { code: "RangeError", message: "too much" };
  const body = await workUntil(works, COMPLETE);
  assert.deepEqual(body.results, [{ id: "tk_1", leaseToken: "1.1", error }]);
});

test("a chosen failure and a BPMN error go to /fail", async () => {
  const cases = [
    {
      thrown: new TaskFailed("no", { code: "DECLINED", data: 1, retryable: false, retryAfter: "PT1S" }),
      body: {
        leaseToken: "1.1",
        error: { code: "DECLINED", message: "no", data: 1 },
        retryable: false,
        retryAfter: "PT1S",
      },
    },
    {
      thrown: new BpmnError("OUT_OF_STOCK", "", { left: 0 }),
      body: { leaseToken: "1.1", bpmnError: { code: "OUT_OF_STOCK", variables: { left: 0 } } },
    },
  ];
  for (const { thrown, body } of cases) {
    server.calls.length = 0;
    server.on(CLAIM, tasks(task(1)));
    const works = worker().task("work", () => {
      throw thrown;
    });
    assert.deepEqual(await workUntil(works, FAIL), body);
  }
});

test("a long task keeps its lease", async () => {
  server.on(CLAIM, tasks(task(1)));
  let extended = () => undefined as void;
  const done = new Promise<void>((resolve) => (extended = resolve));
  server.on("/api/v1/tasks/tk_1/extend", () => {
    extended();
    return [200, {}];
  });
  const works = worker({ leaseMs: 30 }).task("work", () => done.then(() => "late"));
  const body = await workUntil(works, COMPLETE);
  assert.equal(body.results[0].output, "late");
});

test("a lost lease aborts the work and nothing is reported", async () => {
  server.on(CLAIM, tasks(task(1)));
  server.on("/api/v1/tasks/tk_1/extend", () => [409, { code: "lease_lost" }]);
  const works = worker({ leaseMs: 30 });
  const aborted = new Promise<void>((resolve) => {
    works.task("work", (_, { signal }) => {
      signal.addEventListener("abort", () => resolve());
      return new Promise(() => undefined);
    });
  });
  const running = works.run();
  await aborted;
  works.stop();
  await running;
  assert.ok(!server.calls.some((it) => it.path === COMPLETE));
});

test("a server that is away is asked again", async () => {
  const given = tasks(task(1));
  let refusals = 2;
  server.on(CLAIM, (body) => (refusals-- > 0 ? [503, {}] : given(body)));
  let lost = 1;
  server.on(COMPLETE, (body) => (lost-- > 0 ? [503, {}] : allGood(body)));
  await workUntil(worker().task("work", () => 1), COMPLETE);
  const reports = server.calls.filter((it) => it.path === COMPLETE);
  assert.equal(reports.length, 2);
  assert.deepEqual(reports[0]?.body, reports[1]?.body);
});

test("mistakes in the set-up are told at once", async () => {
  assert.throws(() => new Worker("localhost:8088"), MeantimeError);
  assert.throws(() => worker({ concurrency: 0 }), MeantimeError);
  await assert.rejects(worker().run(), MeantimeError);
  assert.throws(() => worker().task("a", () => 1).task("a", () => 2), /two functions/);
});

test("functions run without a server", async () => {
  const works = worker().task("double", (number: number) => number * 2);
  assert.deepEqual(await runTask(works, "double", 21), { output: 42 });
  await assert.rejects(runTask(works, "treble"), /there are double/);
});
