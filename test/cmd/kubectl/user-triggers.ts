import type { Answer } from "./stub-hub.ts";

const group = "eventing.knative.dev";
const version = { groupVersion: `${group}/v1`, version: "v1" };

/** A Trigger of a team: made two weeks before 2026-11-21, `True` or `False` since a time. */
export function trigger(
  name: string,
  status: "True" | "False",
  since: string,
  namespace = "shop",
): object {
  const isReady = status === "True";
  const ready = {
    type: "Ready",
    status,
    reason: isReady ? "" : "BrokerMissing",
    message: isReady ? "" : `The Broker default of ${name} does not exist`,
    lastTransitionTime: since,
  };
  return {
    apiVersion: `${group}/v1`,
    kind: "Trigger",
    metadata: {
      namespace,
      name,
      uid: name,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: "2026-11-07T12:00:00Z",
    },
    status: { observedGeneration: 1, conditions: [ready] },
  };
}

/** The answers of a cluster about the workloads of its users: these Triggers, and nothing else; without any, they may not be listed. */
export function answersTriggers(items: readonly object[] | undefined): Answer {
  const answers: Readonly<Record<string, ReturnType<Answer>>> = {
    [`/apis/${group}`]: { body: { name: group, versions: [version], preferredVersion: version } },
    [`/apis/${group}/v1`]: {
      body: { resources: [{ name: "triggers", kind: "Trigger", namespaced: true }] },
    },
    [`/apis/${group}/v1/triggers`]: items === undefined ? forbidden : { body: listOf(items) },
  };
  return ({ path }) =>
    answers[path] ?? (/^\/apis\/[a-z]+\.knative\.dev$/.test(path) ? absent : undefined);
}

const listOf = (items: readonly object[]) => ({
  kind: "List",
  apiVersion: "v1",
  metadata: { resourceVersion: "7" },
  items,
});
const absent = { status: 404, body: { kind: "Status", apiVersion: "v1", code: 404 } };
const forbidden = {
  status: 403,
  body: {
    kind: "Status",
    apiVersion: "v1",
    code: 403,
    reason: "Forbidden",
    message: `triggers.${group} is forbidden: User "me" cannot list resource "triggers" in API group "${group}" at the cluster scope`,
  },
};
