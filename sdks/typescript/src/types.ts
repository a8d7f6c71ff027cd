/** The shapes of the HTTP API that this package uses. */

export interface Page<T> {
  items: T[];
  nextCursor?: string | null;
}

export interface Instance {
  id: string;
  definition: string;
  version: number;
  notation: string;
  status: "running" | "completed" | "failed" | "cancelled";
  input?: unknown;
  output?: unknown;
  error?: { code: string; message: string; data?: unknown } | null;
  variables?: unknown;
  waitingFor: WaitingFor[];
  incidents: unknown[];
  deadlineAt?: string | null;
  startedAt: string;
  endedAt?: string | null;
  key?: string | null;
  tags: string[];
}

export interface WaitingFor {
  kind: "task" | "userTask" | "timer" | "signal" | "message" | "step" | "child";
  id: string;
  name: string;
  place: string;
  dueAt?: string | null;
  since: string;
}

export interface Timer {
  id: string;
  kind: string;
  dueAt: string;
}

export interface ClaimedTask {
  id: string;
  type: string;
  instanceId: string;
  input?: unknown;
  attempt: number;
  leaseToken: string;
  leaseUntil: string;
  deadlineAt?: string;
  idempotencyKey: string;
  headers?: unknown;
}

/** The body of `/fail`, without the token. */
export interface Failure {
  error?: { code: string; message: string; data?: unknown };
  retryable?: boolean;
  retryAfter?: string;
  bpmnError?: { code: string; message?: string; variables?: Record<string, unknown> };
}
