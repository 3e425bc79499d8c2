import { expect, test } from "vitest";

import { retryDelayMs } from "../../../access/http/retry.ts";
import { ConnectionError, type ConnectionFailure } from "../../../access/kube/api-error.ts";

const fresh = { attempts: 1, elapsedMs: 0, idempotent: true };

test.each([
  { name: "429 as the server asks", status: 429, retryAfter: "2", facts: {}, waitMs: 2_000 },
  {
    name: "429 of a create",
    status: 429,
    retryAfter: "1",
    facts: { idempotent: false },
    waitMs: 1_000,
  },
  { name: "503 without a wish", status: 503, retryAfter: undefined, facts: {}, waitMs: 1_000 },
  {
    name: "503 of a create",
    status: 503,
    retryAfter: "1",
    facts: { idempotent: false },
    waitMs: undefined,
  },
  { name: "429 beyond a minute", status: 429, retryAfter: "120", facts: {}, waitMs: undefined },
  {
    name: "429 for the tenth time",
    status: 429,
    retryAfter: "1",
    facts: { attempts: 10 },
    waitMs: undefined,
  },
  { name: "500", status: 500, retryAfter: "1", facts: {}, waitMs: undefined },
  { name: "200", status: 200, retryAfter: undefined, facts: {}, waitMs: undefined },
])("after $name the wait is $waitMs ms", ({ status, retryAfter, facts, waitMs }) => {
  expect(retryDelayMs({ status, retryAfter }, { ...fresh, ...facts }, 0)).toBe(waitMs);
});

const lost: readonly { failure: ConnectionFailure; facts: object; again: boolean }[] = [
  { failure: "refused", facts: {}, again: true },
  { failure: "refused", facts: { idempotent: false }, again: true },
  { failure: "reset", facts: {}, again: true },
  { failure: "reset", facts: { idempotent: false }, again: false },
  { failure: "timeout", facts: {}, again: true },
  { failure: "timeout", facts: { elapsedMs: 10_000 }, again: false },
  { failure: "refused", facts: { attempts: 4 }, again: false },
  { failure: "untrusted", facts: {}, again: false },
  { failure: "closed", facts: {}, again: false },
];

test.each(lost)(
  "a $failure connection with $facts is tried again: $again",
  ({ failure, facts, again }) => {
    const error = new ConnectionError(failure, "lost");
    expect(retryDelayMs({ error }, { ...fresh, ...facts }, 0) !== undefined).toBe(again);
  },
);

test("a bug is never tried again", () => {
  expect(retryDelayMs({ error: new Error("Bug") }, fresh, 0)).toBeUndefined();
});
