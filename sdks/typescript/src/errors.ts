/** The errors of this package, and those that a task function throws to fail a task. */

/** The base class of all errors of this package. */
export class MeantimeError extends Error {
  override name = "MeantimeError";
}

/**
 * The server cannot be reached, or answers that it is unavailable. The request may have taken
 * effect, unless `unsent` is true; repeat it with the same idempotency key.
 */
export class Unavailable extends MeantimeError {
  override name = "Unavailable";
  constructor(
    message: string,
    /** The server's `Retry-After`, if it sent one. */
    readonly retryAfterMs?: number,
    /** Whether the request certainly had no effect: not sent, or rejected before it was read. */
    readonly unsent = false,
  ) {
    super(message);
  }
}

/** A value cannot be sent because it is not JSON; the message contains its path. */
export class NotJson extends MeantimeError {
  override name = "NotJson";
}

/** The server rejected a request: an RFC 9457 problem with a stable code. */
export class Problem extends MeantimeError {
  override name = "Problem";
  readonly code: string;
  readonly detail: string;
  constructor(readonly status: number, readonly body: Record<string, unknown>) {
    const code = String(body["code"] ?? "unknown");
    const detail = String(body["detail"] ?? body["title"] ?? "");
    super(detail ? `${code}: ${detail}` : code);
    this.code = code;
    this.detail = detail;
  }

  /** Problems of a definition, when a deployment was rejected. */
  get diagnostics(): unknown[] {
    const list = this.body["diagnostics"];
    return Array.isArray(list) ? list : [];
  }
}

export interface FailureOptions {
  code?: string;
  data?: unknown;
  /** Whether another attempt may help; true by default. */
  retryable?: boolean;
  /** The delay before it, as an ISO duration such as `PT30S`. */
  retryAfter?: string;
}

/**
 * Throw this in a task function to fail the task in a chosen way. Any other error fails it as
 * well, with the error's name as code, and is retried.
 */
export class TaskFailed extends MeantimeError {
  override name = "TaskFailed";
  constructor(message: string, readonly options: FailureOptions = {}) {
    super(message);
  }
}

/** Throw this in a task function to throw a BPMN error that a boundary event may catch. */
export class BpmnError extends MeantimeError {
  override name = "BpmnError";
  constructor(
    readonly code: string,
    readonly text = "",
    readonly variables?: Record<string, unknown>,
  ) {
    super(text || code);
  }
}
