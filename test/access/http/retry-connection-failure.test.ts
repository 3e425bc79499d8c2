import { expect, test } from "vitest";

import { retryDelayMs } from "../../../access/http/retry.ts";
import { connectionErrorOf } from "../../../access/kube/api-error.ts";

/** As Node makes it when a system call fails. */
function systemError(syscall: string, code: string): Error {
  return Object.assign(new Error(`${syscall} ${code}`), { code, syscall });
}

/** A create, to which the connection gave this error. */
function isCreateRepeated(cause: Error): boolean {
  const error = connectionErrorOf(cause, "https://spoke.example");
  return retryDelayMs({ error }, { attempts: 1, elapsedMs: 0, idempotent: false }, 0) !== undefined;
}

const unroutable = ["EHOSTUNREACH", "ENETUNREACH"];

test.each(unroutable)(
  "a create is not repeated when the route went while it was under way (%s)",
  (code) => {
    expect(isCreateRepeated(systemError("read", code))).toBe(false);
    expect(isCreateRepeated(systemError("write", code))).toBe(false);
    const broken = new Error("other side closed", { cause: systemError("read", code) });
    expect(isCreateRepeated(broken)).toBe(false);
  },
);

test.each(unroutable)("a create is repeated when no connection could be made (%s)", (code) => {
  const refusal = systemError("connect", code);
  expect(isCreateRepeated(refusal)).toBe(true);
  // All addresses of a name were tried.
  expect(isCreateRepeated(new AggregateError([refusal, refusal]))).toBe(true);
});
