import { describe, expect, test } from "vitest";

import { ApiError, ConnectionError } from "../../../access/api-error.ts";
import { guardViewOf } from "../../../api/guard/guard-request.ts";
import { guardRules } from "../../../api/guard/guard-rules.ts";
import { probeMessages, ProbeWindow, verdictOn } from "../../../controller/guard/probe.ts";

const policyName = "anchor-guard.hub.operator.knative.dev";
const ours = `ValidatingAdmissionPolicy '${policyName}' with binding '${policyName}' denied request: `;

function refusal(status: number, ...messages: readonly string[]) {
  const error = new ApiError({
    status,
    reason: "Forbidden",
    message: "no",
    causes: messages.map((message) => ({ message })),
    isStatus: true,
    request: "POST /",
  });
  return { kind: "error", error } as const;
}

describe.each(["CREATE", "DELETE"] as const)("the answer to a %s probe", (operation) => {
  const message = probeMessages[operation];
  const rule = { policyName, message };

  test.each([
    ["403 by our policy", "denied", refusal(403, ours + message)],
    ["403 by our policy with another text", "unknown", refusal(403, `${ours}something else`)],
    ["403 by RBAC, without causes", "unknown", refusal(403)],
    [
      "403 by another policy with the same text",
      "unknown",
      refusal(403, `ValidatingAdmissionPolicy 'other' with binding 'other' denied: ${message}`),
    ],
    [
      "403 by the policy of a hub whose name begins like ours",
      "unknown",
      refusal(403, `ValidatingAdmissionPolicy '${policyName}.x' with binding 'x': ${message}`),
    ],
    ["the text, but 422", "unknown", refusal(422, ours + message)],
    ["201 or 200", "allowed", { kind: "accepted" }],
    ["404", "unknown", refusal(404)],
    ["409", "unknown", refusal(409)],
    ["429", "unknown", refusal(429)],
    ["500", "unknown", refusal(500)],
    ["a timeout", "unknown", { kind: "error", error: new ConnectionError("timeout", "too late") }],
  ] as const)("%s is %s", (_what, verdict, answer) => {
    expect(verdictOn(answer, rule)).toBe(verdict);
  });
});

test("the texts of probes are those of the rules", () => {
  const request = { operation: "", dryRun: false, username: "" };
  const none = { namespace: undefined, name: undefined, object: undefined, oldObject: undefined };
  const owner = { hubId: "hub", hubUsers: ["user"] };
  const facts = { namespaceTerminating: false, mayUnprotect: false };
  const view = guardViewOf({ ...request, ...none }, owner, facts);
  for (const guard of ["anchor-guard", "namespace-guard"] as const) {
    const [first, second] = guardRules[guard].map(({ message }) => message(view));
    expect([first, second]).toEqual([probeMessages.CREATE, probeMessages.DELETE]);
  }
});

const windowOf = (rounds: readonly (readonly [at: number, isDenied: boolean])[]): boolean => {
  const window = new ProbeWindow();
  for (const [at, isDenied] of rounds) window.note(isDenied, { sentAt: at, answeredAt: at + 10 });
  return window.isEnforced;
};
const denials = (count: number, paceMs: number, from = 0) =>
  Array.from({ length: count }, (_, index) => [from + index * paceMs, true] as const);

describe("a window of probes", () => {
  test.each([
    ["eleven denials over 2.5 s and the answer's time", true, denials(12, 250)],
    ["nine denials over 4 s", false, denials(9, 500)],
    ["a hundred denials within 2 s", false, denials(100, 20)],
    ["a denial less than 2.5 s after the first answer", false, denials(11, 250)],
    [
      "one other answer in the middle",
      false,
      [...denials(9, 250), [2_250, false], ...denials(9, 250, 2_500)],
    ],
    ["one other answer at the end", false, [...denials(12, 250), [3_000, false]]],
    ["a whole window after another answer", true, [[0, false], ...denials(12, 250, 250)]],
    ["nothing", false, []],
    [
      "a denial that was asked for before another answer came",
      false,
      [[0, false], [5, true], ...denials(11, 250, 20)],
    ],
  ] as const)("%s: %s", (_what, isEnforced, rounds) => {
    expect(windowOf(rounds)).toBe(isEnforced);
  });
});

test("a round that overlaps others counts whenever it is noted", () => {
  const window = new ProbeWindow();
  for (const [sentAt] of denials(12, 250)) window.note(true, { sentAt, answeredAt: sentAt + 300 });
  expect(window.isEnforced).toBe(false);
  window.note(true, { sentAt: 2_800, answeredAt: 3_100 });
  expect(window.isEnforced).toBe(true);
  window.note(false, { sentAt: 300, answeredAt: 3_200 });
  expect([window.isEnforced, window.hasBegun]).toEqual([false, false]);
  window.note(true, { sentAt: 2_900, answeredAt: 3_300 });
  expect(window.hasBegun).toBe(false);
  window.note(true, { sentAt: 3_201, answeredAt: 3_300 });
  expect(window.hasBegun).toBe(true);
});

test("rounds follow each other faster until the first denial, and the last one ends the window", () => {
  const window = new ProbeWindow();
  expect(window.paceAfter(0)).toBe(100);
  window.note(true, { sentAt: 0, answeredAt: 40 });
  expect(window.paceAfter(0)).toBe(250);
  expect(window.paceAfter(2_400)).toBe(140);
});
