/** Results that are not JSON, too many, or too large. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { BpmnError, TaskFailed } from "../src/index.js";
import { encode } from "../src/json.js";
import { FakeServer, allGood, type Told } from "./fake-server.js";
import { CLAIM, COMPLETE, numbered, server as start, withoutPauses, work, worker, workUntil } from "./working.js";

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

const ring: Record<string, unknown> = { name: "ring" };
ring["next"] = [ring];

let deep: unknown[] = [];
for (let level = 0; level < 100_000; level += 1) deep = [deep];

class Order {
  id = 7;
}

/** Results that are not JSON, and their error messages. */
const NOT_JSON: [unknown, RegExp][] = [
  [{ id: 1n }, /\$\.id is a BigInt/],
  [[1, Number.NaN], /\$\[1\] is NaN/],
  [{ a: { b: -Infinity } }, /\$\.a\.b is -Infinity/],
  [ring, /\$\.next\[0\] contains itself/],
  [{ run: () => 1 }, /\$\.run is a function/],
  [() => 1, /\$ is a function/],
  [Symbol("s"), /\$ is a symbol/],
  [[1, undefined], /\$\[1\] is undefined/],
  [{ later: Promise.resolve(1) }, /\$\.later is a Promise/],
  [new Map([[1, 2]]), /\$ is a Map/],
  [{ ids: new Set([1]) }, /\$\.ids is a Set/],
  [{ why: new RangeError("x") }, /\$\.why is a RangeError/],
  [new Uint8Array(3), /\$ is a Uint8Array/],
  [deep, /nested too deeply/],
  [
    {
      get broken() {
        throw new Error("a getter that throws");
      },
    },
    /a getter that throws/,
  ],
];

test("a result that is not JSON fails its task and no other", async () => {
  const bad = NOT_JSON;
  const count = bad.length + 1;
  await work(server, count, (number: number) => (number === count ? "good" : bad[number - 1]?.[0]));
  assert.deepEqual([...server.results().values()].map(({ output }) => output), ["good"]);
  const failures = server.failures();
  bad.forEach(([, text], index) => {
    const failure = failures.get(`tk_${index + 1}`);
    assert.equal(failure?.error.code, "RESULT_NOT_JSON");
    assert.match(failure.error.message, text);
    assert.equal(failure.retryable, false);
  });
});

test("what has a JSON of its own keeps it", () => {
  const cases: [unknown, string][] = [
    [undefined, "null"],
    [{ a: 1, b: undefined }, '{"a":1}'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    [new Order(), '{"id":7}'],
    [[null, true, "x", 1.5], '[null,true,"x",1.5]'],
    [new Date(Number.NaN), "null"],
  ];
  for (const [value, text] of cases) assert.equal(encode(value), text);
});

test("the data of a failure that is not JSON is left out", async () => {
  await work(server, 2, (number: number) => {
    if (number === 1) throw new TaskFailed("no", { code: "DECLINED", data: 1n, retryAfter: "PT1S" });
    throw new BpmnError("OUT", "", { x: () => 1 });
  });
  const first = server.failures().get("tk_1");
  assert.equal(first.error.code, "DECLINED");
  assert.match(first.error.message, /\$ is a BigInt/);
  assert.equal(first.retryAfter, "PT1S");
  assert.equal(server.failures().get("tk_2").error.code, "RESULT_NOT_JSON");
});

function lengths(): Record<string, number> {
  const all = [...server.results().values()].filter((it) => "output" in it);
  return Object.fromEntries(all.map((it) => [it.id, it.output.length]));
}

test("ten results of 200 KB all arrive", async () => {
  await work(server, 10, () => "x".repeat(200_000));
  const all = Array.from({ length: 10 }, (_, index) => [`tk_${index + 1}`, 200_000]);
  assert.deepEqual(lengths(), Object.fromEntries(all));
  assert.equal(server.failures().size, 0);
});

test("a result that is alone too large fails its task and no other", async () => {
  await work(server, 2, (number: number) => "x".repeat(number === 1 ? 2_000_000 : 10));
  assert.deepEqual(lengths(), { tk_2: 10 });
  const failure = server.failures().get("tk_1");
  assert.equal(failure.error.code, "RESULT_TOO_LARGE");
  assert.equal(failure.retryable, false);
});

test("sizes are counted in bytes, not in characters", async () => {
  await work(server, 5, () => "€".repeat(100_000));
  assert.equal(Object.keys(lengths()).length, 5);
});

test("a failure that is too large keeps its meaning", async () => {
  await work(server, 2, (number: number) => {
    const large = "x".repeat(2_000_000);
    if (number === 1) throw new RangeError(large);
    throw new TaskFailed("much", { code: "MUCH", data: large, retryable: false });
  });
  const { error } = server.results().get("tk_1");
  assert.equal(error.code, "RangeError");
  assert.ok(error.message.length < 2_000);
  const failure = server.failures().get("tk_2");
  assert.deepEqual([failure.error.code, failure.retryable], ["MUCH", false]);
});

test("a server with a lower limit gets smaller reports", async () => {
  server.maxBodyBytes = 300_000;
  await work(server, 6, (number: number) => "x".repeat(number === 1 ? 400_000 : 100_000));
  const small = [2, 3, 4, 5, 6].map((number) => [`tk_${number}`, 100_000]);
  assert.deepEqual(lengths(), Object.fromEntries(small));
  assert.equal(server.failures().get("tk_1").error.code, "RESULT_TOO_LARGE");
});

/** Runs until every task has an accepted result or a failure. */
async function accepted(count: number, complete: (body: { results: { id: string; output: number }[] }) => Told) {
  const good = new Set<string>();
  server.on(COMPLETE, (body) => {
    const told = complete(body);
    if (told[0] === 200) for (const { id } of body.results) good.add(id);
    return told;
  });
  server.on(CLAIM, numbered(count));
  const works = worker(server, (number: number) => number, { concurrency: count });
  await workUntil(server, works, () => good.size + server.failures().size === count);
  return [...good].sort();
}

test("a result that the server refuses fails its task and no other", async () => {
  const good = await accepted(5, (body) => {
    const isBad = body.results.some(({ output }) => output === 3);
    return isBad ? [400, { code: "invalid_body", detail: "three" }] : allGood(body);
  });
  assert.deepEqual(good, ["tk_1", "tk_2", "tk_4", "tk_5"]);
  const { error } = server.failures().get("tk_3");
  assert.equal(error.code, "RESULT_REFUSED");
  assert.match(error.message, /invalid_body: three/);
});

test("a result that breaks the server holds up no other", async () => {
  let broken = 12;
  const good = await accepted(5, (body) => {
    const isBad = body.results.some(({ output }) => output === 3) && broken-- > 0;
    return isBad ? [500, { code: "internal" }] : allGood(body);
  });
  assert.equal(good.length, 5);
});

test("only what was not heard is reported again", async () => {
  const unheard = new Map<string, number>([["tk_1", 503], ["tk_2", 0]]);
  server.on(COMPLETE, (body: { results: { id: string }[] }) => {
    const items = body.results.map(({ id }) => {
      const status = unheard.get(id) ?? 200;
      unheard.delete(id);
      return { id, status };
    });
    return [200, { results: items.filter(({ status }) => status > 0) }];
  });
  await work(server, 3, (number: number) => number);
  const ids = server.bodies(COMPLETE).flatMap(({ results }) => results.map((it: { id: string }) => it.id));
  assert.deepEqual(ids.sort(), ["tk_1", "tk_1", "tk_2", "tk_2", "tk_3"]);
});
