import { describe, expect, test } from "vitest";

import { ApiError, ConnectionError } from "../../../access/kube/api-error.ts";
import { probeMessages, ProbeRounds, verdictOn } from "../../../controller/guard/prober.ts";
import { guardRules } from "../../../installation/guard/guard-rules.ts";
import { guardViewOf } from "../../../installation/guard/guard-view.ts";

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

type Round = readonly [at: number, isDenied: boolean];

const areEnough = (rounds: readonly Round[]): boolean => {
  const noted = new ProbeRounds();
  for (const [at, isDenied] of rounds) noted.note(isDenied, { sentAt: at, answeredAt: at + 10 });
  return noted.areEnough;
};
const denials = (count: number, paceMs: number, from = 0) =>
  Array.from({ length: count }, (_, index) => [from + index * paceMs, true] as const);

describe("rounds of probes", () => {
  test.each([
    ["six denials over 2.5 s and the answer's time", true, denials(6, 502)],
    ["five denials over 4 s", false, denials(5, 1_000)],
    ["a hundred denials within 2 s", false, denials(100, 20)],
    ["a sixth denial less than 2.5 s after the first answer", false, denials(6, 500)],
    [
      "one other answer in the middle",
      false,
      [...denials(5, 502), [2_510, false], ...denials(5, 502, 3_012)],
    ],
    ["one other answer at the end", false, [...denials(6, 502), [3_000, false]]],
    ["six after another answer", true, [[0, false], ...denials(6, 502, 250)]],
    ["none", false, []],
  ] satisfies readonly (readonly [string, boolean, readonly Round[]])[])(
    "%s: %s",
    (_what, expected, rounds) => {
      expect(areEnough(rounds)).toBe(expected);
    },
  );
});

test.each([0, 40, 600])("of rounds that take %i ms each the sixth is the last one", (answerMs) => {
  const rounds = new ProbeRounds();
  let now = 0;
  let sent = 0;
  while (!rounds.areEnough) {
    const sentAt = now;
    now += answerMs;
    rounds.note(true, { sentAt, answeredAt: now });
    sent += 1;
    now += rounds.waitMs(now);
  }
  expect(sent).toBe(6);
});
