/**
 * Deploys a flow, does its task, and prints the result. Start a server with `meantime dev`, then
 * `npm test` once to compile and `node dist-test/examples/greeter.js [URL]`.
 */

import { Client, Worker } from "../src/index.js";

const FLOW = `
let greeting = await Task.run("greet", { name: Inputs.name })
return greeting
`;

const url = process.argv[2] ?? "http://127.0.0.1:8088";
const worker = new Worker(url, { pollMs: 5_000 });
worker.task("greet", (input: { name: string }) => `Hello, ${input.name}!`);

const client = new Client(url);
await client.deploy(FLOW, { name: "greeter" });
const working = worker.run();
const instance = await client.start("greeter", { name: "Ada" }, { wait: "PT10S" });
console.log(instance.output);
worker.stop();
await working;
