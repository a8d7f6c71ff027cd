/** What can go wrong, and what a task function throws to say how it failed. */

/** Everything this package throws. */
export class MeantimeError extends Error {
  override name = "MeantimeError";
}

/**
 * The server cannot be reached, or asks to come back later. Whether a request took effect is not
 * known, unless `unsent` says so; repeat it with the same idempotency key.
 */
export class Unavailable extends MeantimeError {
  override name = "Unavailable";
  constructor(
    message: string,
    /** How long the server asks to wait, if it said so. */
    readonly retryAfterMs?: number,
    /** Whether the request certainly had no effect: it was not sent, or refused unread. */
    readonly unsent = false,
  ) {
    super(message);
  }
}

/** A value cannot be sent because it is not JSON; the message says where it is. */
export class NotJson extends MeantimeError {
  override name = "NotJson";
}

/** The server refused a request: an RFC 9457 problem with a stable code. */
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

  /** Problems of a definition, when a deployment was refused. */
  get diagnostics(): unknown[] {
    const list = this.body["diagnostics"];
    return Array.isArray(list) ? list : [];
  }
}

export interface FailureOptions {
  code?: string;
  data?: unknown;
  /** Whether another attempt may help; true unless said otherwise. */
  retryable?: boolean;
  /** How long to wait before it, as an ISO duration such as `PT30S`. */
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
