/** A server that fails, disconnects or sends invalid answers ends no worker and loses no result. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { Backoff } from "../src/backoff.js";
import { Problem } from "../src/index.js";
import { DROPPED, FakeServer, allGood, type Answer, type Told } from "./fake-server.js";
import {
  CLAIM,
  COMPLETE,
  asked,
  heard,
  numbered,
  server as start,
  withoutPauses,
  work,
  worker,
  workUntil,
} from "./working.js";

const FAIL = "/api/v1/tasks/tk_1/fail";
const EXTEND = "/api/v1/tasks/tk_1/extend";

/** Answers of a failing server, or of a proxy in front of it. */
const TROUBLE: Record<string, Told> = {
  "internal error": [500, { code: "internal" }],
  "a proxy without a server": [502, "<html>Bad Gateway</html>"],
  overloaded: [503, {}],
  "a proxy that gave up": [504, undefined],
  "not asked for": [520, undefined],
  "too many": [429, {}],
  "too slow": [408, { code: "slow_request" }],
  closed: DROPPED,
  "cut off": [200, '{"results":[', { "content-length": "1000" }],
  "not JSON": [200, "<html>Welcome</html>"],
  empty: [200, undefined],
  "something else": [200, ["a", "b"]],
};

let server: FakeServer;
let restore: () => void;

beforeEach(async () => {
  server = await start();
  restore = withoutPauses();
});

afterEach(() => {
  restore();
  server.close();
});

/** Fails twice, then succeeds. */
function twice(answer: Told, good: Answer): Answer {
  let left = 2;
  return (body) => (left-- > 0 ? answer : good(body));
}

for (const [name, answer] of Object.entries(TROUBLE)) {
  test(`a claim is repeated: ${name}`, async () => {
    server.on(CLAIM, twice(answer, numbered(1)));
    await workUntil(server, worker(server, () => "done"), () => heard(server).size === 1);
    assert.equal(server.results().get("tk_1").output, "done");
  });

  test(`a result is reported until it was heard: ${name}`, async () => {
    server.on(COMPLETE, twice(answer, allGood));
    await work(server, 1, () => "done");
    const reports = server.bodies(COMPLETE);
    assert.equal(reports.length, 3);
    assert.deepEqual(reports[0], reports[2]);
  });

  // The answer to a failure has only a status.
  if (name !== "empty" && name !== "something else") {
    test(`a failure is reported until it was heard: ${name}`, async () => {
      server.on(FAIL, twice(answer, () => [200, {}]));
      await work(server, 1, () => 1n);
      assert.equal(server.bodies(FAIL).length, 3);
    });
  }

  test(`a lease is extended until that was heard: ${name}`, async () => {
    let extended = () => undefined as void;
    const done = new Promise<void>((resolve) => (extended = resolve));
    server.on(EXTEND, twice(answer, () => {
      extended();
      return [200, {}];
    }));
    await work(server, 1, () => done.then(() => "late"), { leaseMs: 30 });
    assert.equal(server.results().get("tk_1").output, "late");
  });
}

test("a lease is extended while its result waits to be heard", async () => {
  let isExtended = false;
  server.on(EXTEND, () => {
    isExtended = true;
    return [200, {}];
  });
  server.on(COMPLETE, (body) => (isExtended ? allGood(body) : [503, {}]));
  await work(server, 1, () => "done", { leaseMs: 300 });
  assert.ok(isExtended);
});

test("a second report of the same attempt counts as heard", async () => {
  const lost = { id: "tk_1", status: 409, code: "lease_lost" };
  server.on(COMPLETE, twice(DROPPED, () => [200, { results: [lost] }]));
  await work(server, 1, () => "done");
  assert.equal(server.failures().size, 0);
  server.calls.length = 0;
  server.on(FAIL, twice(DROPPED, () => [409, lost]));
  await work(server, 1, () => 1n);
  assert.equal(server.bodies(FAIL).length, 3);
});

test("what the server asks to wait is waited", async () => {
  const date = new Date(Date.now() + 3_600_000).toUTCString();
  const cases: [string, number, number][] = [["7", 7_000, 7_000], ["0.5", 500, 500], [date, 3_500_000, 3_601_000]];
  for (const [text, low, high] of cases) {
    for (const path of [CLAIM, COMPLETE]) {
      asked.length = 0;
      server.calls.length = 0;
      server.on(CLAIM, numbered(1));
      server.on(COMPLETE, allGood);
      const trouble: Told = [429, {}, { "retry-after": text }];
      server.on(path, twice(trouble, path === CLAIM ? numbered(1) : allGood));
      await workUntil(server, worker(server, () => "done"), () => heard(server).size === 1);
      const waits = asked.filter((it) => it !== undefined);
      assert.equal(waits.length, 2);
      assert.ok(waits.every((it) => low <= it && it <= high), String(waits));
    }
  }
});

test("a refused claim ends a worker only when nothing ever worked", async () => {
  const refused: Told = [403, { code: "forbidden", detail: "no" }];
  server.on(CLAIM, () => refused);
  await assert.rejects(worker(server, () => 1).run(), Problem);
  const answers: Told[] = [[200, { tasks: [] }], refused, [404, "a proxy lost its way"]];
  const given = numbered(1);
  server.on(CLAIM, (body) => answers.shift() ?? given(body));
  await workUntil(server, worker(server, () => "done"), () => heard(server).size === 1);
});

test("pauses grow with jitter up to a limit", () => {
  restore();
  const backoff = new Backoff();
  for (let number = 0; number < 20; number += 1) {
    const middle = Math.min(100 * 2 ** number, 10_000);
    const pause = backoff.next();
    assert.ok(middle * 0.5 <= pause && pause <= middle * 1.5, `${number}: ${pause}`);
  }
  backoff.reset();
  assert.ok(backoff.next() < 200);
});

test("no pause is shorter than what was asked for, within reason", () => {
  restore();
  assert.ok(new Backoff().next(7_000) >= 7_000);
  assert.ok(new Backoff().next(1_000_000_000) < 72_000);
});
