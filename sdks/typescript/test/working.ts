/** Shared by tests of workers: a scripted server, and a worker that runs until a condition. */

import assert from "node:assert/strict";

import { Backoff } from "../src/backoff.js";
import { Worker, type TaskFunction, type WorkerOptions } from "../src/index.js";
import { FakeServer, allGood, task, tasks } from "./fake-server.js";

export const CLAIM = "/api/v1/tasks/claim";
export const COMPLETE = "/api/v1/tasks/complete";

/** The recorded `Retry-After` values; pauses take no time in these tests. */
export const asked: (number | undefined)[] = [];

const next = Backoff.prototype.next;

/** Pauses take no time and record the `Retry-After` of the server. */
export function withoutPauses(): () => void {
  asked.length = 0;
  Backoff.prototype.next = (retryAfterMs) => {
    asked.push(retryAfterMs);
    return 0;
  };
  return () => {
    Backoff.prototype.next = next;
  };
}

/** A server that accepts all reports. */
export async function server(): Promise<FakeServer> {
  const fake = await FakeServer.start();
  fake.on(COMPLETE, allGood);
  for (let number = 1; number < 30; number += 1) {
    fake.on(`/api/v1/tasks/tk_${number}/fail`, () => [200, {}]);
  }
  return fake;
}

/** Tasks with a reported result or failure. */
export function heard(fake: FakeServer): Set<string> {
  return new Set([...fake.results().keys(), ...fake.failures().keys()]);
}

/** This many tasks, whose inputs are their numbers. */
export function numbered(count: number) {
  return tasks(...Array.from({ length: count }, (_, index) => task(index + 1, "work", index + 1)));
}

export function worker(fake: FakeServer, run: TaskFunction, options: WorkerOptions = {}): Worker {
  return new Worker(fake.url, { log: () => undefined, ...options }).task("work", run);
}

/** Runs a worker until a condition is true, then stops it and waits for its end. */
export async function workUntil(fake: FakeServer, works: Worker, isSo: () => boolean): Promise<void> {
  let hasEnded = false;
  const running = works.run().finally(() => {
    hasEnded = true;
  });
  await Promise.race([running, fake.waitUntil(isSo)]);
  assert.ok(!hasEnded, "the worker ended by itself");
  works.stop();
  await running;
}

/** Runs a worker until this many tasks are reported. */
export async function work(
  fake: FakeServer,
  count: number,
  run: TaskFunction,
  options: WorkerOptions = {},
): Promise<void> {
  fake.on(CLAIM, numbered(count));
  const works = worker(fake, run, { concurrency: count, ...options });
  await workUntil(fake, works, () => heard(fake).size === count);
}
