import { describe, expect, test } from "vitest";

import { ApiError, ConnectionError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import {
  probeMessages,
  Prober,
  ProbeRounds,
  recheck,
  verdictOn,
} from "../../../controller/guard/prober.ts";
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
    ["429", "unanswered", refusal(429)],
    ["500", "unanswered", refusal(500)],
    [
      "a timeout",
      "unanswered",
      { kind: "error", error: new ConnectionError("timeout", "too late") },
    ],
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

const { signal } = new AbortController();

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  /** Over a connection of its own. */
  readonly isAlone: boolean;
}

/** A prober of a cluster that answers each request so, and what it sends. */
function probing(answer: (method: string) => Promise<unknown>) {
  const sent: Sent[] = [];
  const request: KubeClient["request"] = (...[method, path, body, , options]) => {
    sent.push({ method, path, body, isAlone: options?.ownConnection !== undefined });
    return answer(method);
  };
  return { prober: new Prober({ request }, "hub"), sent };
}

const place = { namespace: "a b", name: "anchor" };

describe("probes are dry runs:", () => {
  test.each(["new", "usual"] as const)("creations over the %s connection", async (over) => {
    const { prober, sent } = probing(async () => ({}));
    expect(await prober.probeCreations("a b", over, signal)).toEqual(["allowed", "allowed"]);
    expect(sent.map(({ method, path, isAlone }) => [method, path, isAlone])).toEqual([
      ["POST", "/api/v1/namespaces?dryRun=All", over === "new"],
      ["POST", "/api/v1/namespaces/a%20b/configmaps?dryRun=All", over === "new"],
    ]);
  });

  test("the deletion, also in its body, over a new connection", async () => {
    const { prober, sent } = probing(async () => ({}));
    expect(await prober.probeDeletion(place, signal)).toBe("allowed");
    expect(sent).toEqual([
      {
        method: "DELETE",
        path: "/api/v1/namespaces/a%20b/configmaps/anchor?dryRun=All",
        body: { kind: "DeleteOptions", apiVersion: "v1", dryRun: ["All"] },
        isAlone: true,
      },
    ]);
  });
});

test.each([
  { status: 404, verdict: "gone" },
  { status: 403, verdict: "unknown" },
  { status: 500, verdict: "unanswered" },
])("a deletion that the server answers with $status: $verdict", async ({ status, verdict }) => {
  const { prober } = probing(() => Promise.reject(refusal(status).error));
  expect(await prober.probeDeletion(place, signal)).toBe(verdict);
});

/** What is read of the namespaces for a recheck. */
const namespaces: Pick<KubeClient, "list"> = {
  list: async (_ref, options) => {
    expect(options).toEqual({ metadataOnly: true });
    return { items: [], resourceVersion: "1" };
  },
};

const own = ours + probeMessages.DELETE;

test.each([
  { allowed: "DELETE", else: refusal(500), anchors: [place], is: "unguarded" },
  { allowed: "POST", else: refusal(403, own), anchors: [place], is: "unguarded" },
  { allowed: "nothing", else: refusal(403, own), anchors: [place], is: "guarded" },
  { allowed: "nothing", else: refusal(403), anchors: [place], is: "unproven" },
  { allowed: "nothing", else: refusal(500), anchors: [place], is: "unanswered" },
  { allowed: "nothing", else: refusal(404), anchors: [place], is: "unproven" },
  { allowed: "POST", else: refusal(403), anchors: [], is: "unanswered" },
])(
  "a cluster that allows $allowed with $anchors.length anchors, and answers the rest $else.error.status, is $is",
  async (row) => {
    const { prober } = probing((method) =>
      method === row.allowed ? Promise.resolve({}) : Promise.reject(row.else.error),
    );
    const work = { client: namespaces, hubId: "hub", prober, onNamespace: () => undefined };
    expect(await recheck({ ...work, anchors: row.anchors }, signal)).toBe(row.is);
  },
);

test.each([
  { first: refusal(404), rest: refusal(500) },
  { first: refusal(403), rest: refusal(503) },
])(
  "a recheck with one $first.error.status asks again as long as the other probes get $rest.error.status",
  async ({ first, rest }) => {
    let count = 0;
    const { prober } = probing((method) => {
      if (method === "POST") count += 1;
      return Promise.reject(count === 1 ? first.error : rest.error);
    });
    const work = { client: namespaces, hubId: "hub", prober, onNamespace: () => undefined };
    expect(await recheck({ ...work, anchors: [place] }, signal)).toBe("unanswered");
  },
);

test("a recheck that cannot read the namespaces probes all the same", async () => {
  const { prober } = probing(async () => ({}));
  const client = { list: () => Promise.reject(new Error("Not now")) };
  const work = { client, hubId: "hub", prober, onNamespace: () => undefined, anchors: [place] };
  expect(await recheck(work, signal)).toBe("unguarded");
});
