/** The package as users get it: installed from a clone, used from JavaScript and TypeScript. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

const PACKAGE = join(dirname(fileURLToPath(import.meta.url)), "../..");
const COMPILER = join(PACKAGE, "node_modules/typescript/bin/tsc");
const QUIET = ["--offline", "--no-audit", "--no-fund", "--loglevel=error"];

let directory: string;
let clone: string;

/** A clone without build results, with the compiler that `npm ci` would install. */
before(() => {
  directory = mkdtempSync(join(tmpdir(), "meantime-package-"));
  clone = join(directory, "clone");
  mkdirSync(clone);
  for (const name of ["package.json", "README.md", "prepare.mjs", "src", "tsconfig.json", "tsconfig.build.json"]) {
    cpSync(join(PACKAGE, name), join(clone, name), { recursive: true });
  }
  symlinkSync(join(PACKAGE, "node_modules"), join(clone, "node_modules"));
});

after(() => rmSync(directory, { recursive: true }));

function run(program: string, args: string[], cwd: string): string {
  return execFileSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** A project that has installed the package. */
function project(name: string, ...what: string[]): string {
  const path = join(directory, name);
  mkdirSync(path);
  writeFileSync(join(path, "package.json"), '{ "name": "project", "version": "1.0.0", "type": "module" }');
  run("npm", ["install", ...QUIET, ...what], path);
  return path;
}

/** The TypeScript of the README, one file per block; all of it must compile. */
function readme(): string[] {
  const text = readFileSync(join(PACKAGE, "README.md"), "utf8");
  return [...text.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code]) => code ?? "");
}

function works(path: string): void {
  writeFileSync(
    join(path, "plain.js"),
    `import { Client, Worker } from "meantime";
     import { runTask } from "meantime/testing";
     new Client("http://127.0.0.1:1");
     const worker = new Worker("http://127.0.0.1:1").task("double", (n) => n * 2);
     console.log(JSON.stringify(await runTask(worker, "double", 21)));`,
  );
  assert.equal(run(process.execPath, ["plain.js"], path), '{"output":42}\n');
  writeFileSync(
    join(path, "typed.ts"),
    `import { Worker, type Instance, type Task, type WorkerOptions } from "meantime";
     import { runTask } from "meantime/testing";
     const options: WorkerOptions = { concurrency: 2 };
     const worker = new Worker("http://127.0.0.1:1", options);
     worker.task("double", (n: number, task: Task) => n * 2 * task.attempt);
     const status = (instance: Instance): string => instance.status;
     console.log(JSON.stringify(await runTask(worker, "double", 21)), typeof status);`,
  );
  const strict = ["--strict", "--target", "es2022"];
  run(process.execPath, [COMPILER, "typed.ts", "--module", "nodenext", ...strict], path);
  assert.equal(run(process.execPath, ["typed.js"], path), '{"output":42} function\n');
  const bundler = ["--module", "esnext", "--moduleResolution", "bundler", "--noEmit"];
  run(process.execPath, [COMPILER, "typed.ts", ...bundler, ...strict], path);
}

test("a directory of the repository can be installed as it is", () => {
  works(project("from-directory", clone));
});

test("a packed file can be installed, and has no more than it needs", () => {
  run("npm", ["pack", "--pack-destination", directory, "--loglevel=error"], clone);
  const path = project("from-file", join(directory, "meantime-0.1.0.tgz"));
  works(path);
  const names = readdirSync(join(path, "node_modules/meantime")).sort();
  assert.deepEqual(names, ["README.md", "dist", "package.json"]);
});

test("the code of the README compiles", () => {
  const path = project("readme", clone);
  // The last block uses the worker of an earlier one.
  const blocks = readme().map((code) =>
    code.includes("runTask") ? `import { Worker } from "meantime";\nconst worker = new Worker("");\n${code}` : code,
  );
  assert.ok(blocks.length >= 4);
  blocks.forEach((code, index) => writeFileSync(join(path, `block${index}.ts`), code));
  const files = blocks.map((_, index) => `block${index}.ts`);
  const options = ["--module", "nodenext", "--target", "es2022", "--strict", "--noEmit"];
  run(process.execPath, [COMPILER, ...files, ...options], path);
});
