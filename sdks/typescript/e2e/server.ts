/** The real server with its own store, for the tests in this directory. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export class Server {
  readonly #directory = mkdtempSync(join(tmpdir(), "meantime-"));
  #child: ChildProcess | undefined;
  #address = "127.0.0.1:0";

  get url(): string {
    return `http://${this.#address}`;
  }

  /** Starts it; a second start uses the same port and store. */
  async start(): Promise<void> {
    const binary = process.env["MEANTIME_TEST_BINARY"];
    if (binary === undefined) throw new Error("MEANTIME_TEST_BINARY names the program to test");
    const options = ["serve", "--db", "sqlite:state.db", "--listen", this.#address];
    const env = { ...process.env, MEANTIME_LOG__FORMAT: "json" };
    const child = spawn(binary, options, { cwd: this.#directory, env, stdio: ["ignore", "ignore", "pipe"] });
    this.#child = child;
    for await (const line of createInterface({ input: child.stderr! })) {
      const entry = JSON.parse(line) as { fields: { address?: string } };
      if (entry.fields.address !== undefined) {
        this.#address = entry.fields.address;
        child.stderr!.resume();
        return;
      }
    }
    throw new Error("the server did not start");
  }

  /** Kills it. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null) return;
    const over = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await over;
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true });
  }
}
