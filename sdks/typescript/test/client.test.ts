import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { Client, Problem, Unavailable } from "../src/index.js";
import { DROPPED, FakeServer, type Told } from "./fake-server.js";

let server: FakeServer;
let client: Client;

beforeEach(async () => {
  server = await FakeServer.start();
  client = new Client(`${server.url}/`);
});

afterEach(() => server.close());

test("a start sends what was given and nothing else", async () => {
  server.on("/api/v1/instances", () => [201, { id: "in_1" }]);
  const options = { wait: "PT10S", idempotencyKey: "k" };
  const started = await client.start("checkout", { id: 7 }, options);
  assert.equal(started.id, "in_1");
  const call = server.calls[0];
  assert.equal(`${call?.method} ${call?.path}`, "POST /api/v1/instances?wait=PT10S");
  assert.deepEqual(call?.body, { definition: "checkout", input: { id: 7 } });
  assert.equal(call?.headers["idempotency-key"], "k");
});

/** Answers one after the other. */
function oneByOne(...answers: Told[]): () => Told {
  return () => answers.shift() ?? [404, {}];
}

test("one call starts one instance, however often it is sent", async () => {
  const started = (id: string): Told => [201, { id }];
  const answers = oneByOne(started("in_1"), DROPPED, [500, {}], DROPPED, started("in_2"));
  server.on("/api/v1/instances", answers);
  await client.start("checkout");
  assert.equal((await client.start("checkout")).id, "in_2");
  const keys = server.calls.map(({ headers }) => headers["idempotency-key"]);
  assert.equal(keys.length, 5);
  assert.ok(keys.every((key) => key !== undefined));
  assert.equal(new Set(keys).size, 2);
  assert.equal(new Set(keys.slice(1)).size, 1);
});

test("an instance is suspended and resumed, however often it is sent", async () => {
  server.on("/api/v1/instances/in_1/suspend", oneByOne(DROPPED, [200, { id: "in_1" }]));
  server.on("/api/v1/instances/in_1/resume", () => [200, { id: "in_1" }]);
  await client.suspend("in_1", "orders are lost", "run");
  await client.resume("in_1");
  const bodies = server.calls.map(({ body }) => body);
  const suspension = { reason: "orders are lost", timers: "run" };
  assert.deepEqual(bodies, [suspension, suspension, {}]);
});

test("one call publishes one message, however often it is sent", async () => {
  server.on("/api/v1/messages", oneByOne(DROPPED, [503, {}], [202, { id: "m" }]));
  await client.publish("paid", { amount: 1 });
  const ids = server.calls.map(({ body }) => body.id as string);
  assert.deepEqual([ids.length, new Set(ids).size], [3, 1]);
  assert.equal(typeof ids[0], "string");
});

test("a signal is never sent twice when the first may have arrived", async () => {
  server.on("/api/v1/why/x", () => [200, {}]);
  for (const trouble of [DROPPED, [500, {}], [503, {}]] as Told[]) {
    await client.why("x"); // So that the signal uses a kept connection.
    server.calls.length = 0;
    server.on("/api/v1/instances/in_1/signals/go", () => trouble);
    await assert.rejects(client.signal("in_1", "go"), (why) => {
      return why instanceof Unavailable && !why.unsent;
    });
    assert.equal(server.calls.length, 1);
  }
});

test("a signal that was refused unread is sent again", async () => {
  const refused: Told = [429, {}, { "retry-after": "0" }];
  server.on("/api/v1/instances/in_1/signals/go", oneByOne(refused, [202, undefined]));
  await client.signal("in_1", "go");
  assert.equal(server.calls.length, 2);
});

test("a server that asks to come back much later is told of at once", async () => {
  server.on("/api/v1/why/x", () => [503, {}, { "retry-after": "3600" }]);
  await assert.rejects(client.why("x"), (why) => {
    return why instanceof Unavailable && why.retryAfterMs === 3_600_000;
  });
  assert.equal(server.calls.length, 1);
});

test("what is not JSON is told before it is sent", async () => {
  await assert.rejects(client.start("checkout", { amount: 1n }), /NotJson.*\$\.input\.amount is a BigInt/);
  assert.equal(server.calls.length, 0);
});

test("lists are read page after page", async () => {
  const pages = [{ items: [1, 2], nextCursor: "c" }, { items: [3] }];
  server.on("/api/v1/instances", () => [200, pages.shift()]);
  const seen: unknown[] = [];
  for await (const instance of client.instances({ status: ["running", "failed"] })) seen.push(instance);
  assert.deepEqual(seen, [1, 2, 3]);
  assert.equal(server.calls[1]?.path, "/api/v1/instances?status=running&status=failed&cursor=c");
});

test("names in paths are escaped, and an empty answer is undefined", async () => {
  server.on("/api/v1/instances/in_1/signals/a%2Fb%20c", () => [202, undefined]);
  assert.equal(await client.signal("in_1", "a/b c", { ok: true }), undefined);
});

test("a refusal is a problem with its code", async () => {
  const answer = { code: "definition_invalid", detail: "2 errors", diagnostics: [{ line: 1 }] };
  server.on("/api/v1/definitions", () => [422, answer]);
  await assert.rejects(client.deploy("return 1 +", { name: "broken" }), (why) => {
    assert.ok(why instanceof Problem);
    assert.equal(why.code, "definition_invalid");
    assert.deepEqual(why.diagnostics, [{ line: 1 }]);
    return true;
  });
  assert.equal(server.calls[0]?.body, "return 1 +");
});

test("an overloaded or absent server is unavailable", async () => {
  server.on("/api/v1/why/x", () => [503, {}]);
  await assert.rejects(client.why("x"), Unavailable);
  await assert.rejects(new Client("http://127.0.0.1:1").why("x"), Unavailable);
});
