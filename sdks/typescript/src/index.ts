/** Client and workers for the Meantime workflow engine. */

export { Client, type ClientOptions, type DeployOptions, type StartOptions } from "./client.js";
export {
  BpmnError,
  MeantimeError,
  NotJson,
  Problem,
  TaskFailed,
  Unavailable,
  type FailureOptions,
} from "./errors.js";
export type { Outcome, Task, TaskFunction } from "./task.js";
export type { Instance, InstanceSummary, Timer, WaitingFor } from "./types.js";
export { Worker, type WorkerOptions } from "./worker.js";
