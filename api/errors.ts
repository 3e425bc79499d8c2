import type { Code, Reason } from "./reasons.ts";

export interface FleetErrorOptions {
  /** A more specific cause, shown as `[Code]` before the message. */
  readonly code?: Code;
  readonly cause?: unknown;
}

/**
 * The only error that users see. The message is short and stable, names the object, and holds neither foreign text nor a
 * secret. Text of a process or a server goes to `cause`.
 */
export class FleetError extends Error {
  override readonly name = "FleetError";
  readonly reason: Reason;
  readonly code: Code | undefined;

  constructor(reason: Reason, message: string, options: FleetErrorOptions = {}) {
    const text = options.code === undefined ? message : `[${options.code}] ${message}`;
    super(text, options.cause === undefined ? {} : { cause: options.cause });
    this.reason = reason;
    this.code = options.code;
  }

  /** The message without its `[Code]`, for callers that show the code elsewhere. */
  get sentence(): string {
    return this.code === undefined ? this.message : this.message.slice(`[${this.code}] `.length);
  }
}
