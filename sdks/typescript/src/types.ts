/** The shapes of the HTTP API that this package uses, from its OpenAPI document. */

import type { components } from "./api.js";

type Schemas = components["schemas"];

export interface Page<T> {
  items: T[];
  nextCursor?: string | null;
}

/** An instance with its data. */
export type Instance = Schemas["Instance"];

/** An instance in a list: without input, output and variables. */
export type InstanceSummary = Schemas["InstanceSummary"];

export type WaitingFor = Schemas["WaitingFor"];

export type Timer = Schemas["Timer"];

export type ClaimedTask = Schemas["ClaimedTask"];

/** The body of `/fail`, without the token. */
export type Failure = Omit<Schemas["TaskFailure"], "leaseToken">;
