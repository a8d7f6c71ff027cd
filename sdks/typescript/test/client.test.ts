import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { Client, Problem, Unavailable } from "../src/index.js";
import { FakeServer } from "./fake-server.js";

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

test("lists are read page after page", async () => {
  const pages = [{ items: [1, 2], nextCursor: "c" }, { items: [3] }];
  server.on("/api/v1/instances", () => [200, pages.shift()]);
  const seen: unknown[] = [];
  for await (const instance of client.instances({ status: "running" })) seen.push(instance);
  assert.deepEqual(seen, [1, 2, 3]);
  assert.equal(server.calls[1]?.path, "/api/v1/instances?status=running&cursor=c");
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
