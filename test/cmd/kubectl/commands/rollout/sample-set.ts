import { isRecord, recordAt } from "../../../../../api/fields.ts";
import type { FleetSet, FleetSetSpec, FleetSetStatus } from "../../../../../api/fleet-set.ts";
import { rolloutDefaults, specDefaults } from "../../set-facts.ts";
import type { Answer } from "../../stub-hub.ts";

export const update = "prod-7c9f1b77e2";
const current = "prod-6d4f9c01ab";
const startedAt = "2026-11-21T10:00:00Z";

const spec: FleetSetSpec = {
  clusters: { from: "Selector", selector: { namespaces: ["fleet"] } },
  template: { spec: { version: "1.23" } },
  rollout: {
    stages: [
      {
        name: "canary",
        selector: { matchLabels: { ring: "0" } },
        maxConcurrency: 1,
        after: { soak: "30m", approval: true },
      },
      { name: "early", selector: { matchLabels: { ring: "1" } }, before: { approval: true } },
      { name: "rest", selector: {} },
    ],
    ...rolloutDefaults,
  },
  ...specDefaults,
};

const counts = { done: 0, failed: 0, updating: 0, unreachable: 0 };

/** A set in the middle of its second stage, as its controller would report it. */
export const rolling: FleetSetStatus = {
  observedGeneration: 7,
  currentRevision: current,
  updateRevision: update,
  rollout: { phase: "Rolling", stage: "early", startedAt },
  clusters: {
    selected: 1200,
    pending: 1068,
    updating: 3,
    settling: 1,
    done: 127,
    failed: 1,
    unreachable: 0,
  },
  stages: [
    {
      ...counts,
      name: "canary",
      state: "Passed",
      clusters: 12,
      done: 12,
      startedAt,
      doneAt: "2026-11-21T10:20:00Z",
      approvedBy: "alice",
    },
    {
      name: "early",
      state: "Rolling",
      clusters: 120,
      done: 115,
      failed: 1,
      updating: 4,
      unreachable: 0,
      startedAt: "2026-11-21T11:00:00Z",
    },
    { ...counts, name: "rest", state: "Waiting", clusters: 1068 },
  ],
  notable: [
    {
      cluster: "fleet/eu-17",
      state: "Failed",
      reason: "DeploymentsNotReady",
      message: "Not available: webhook",
    },
  ],
  conditions: [
    condition("Complete=False", "Rolling", "Clusters are changing"),
    condition("Healthy=False", "Failed", "fleet/eu-17: Not available: webhook"),
    condition("Progressing=True", "Rolling", "Clusters are changing"),
    condition("Ready=False", "Rolling", "127 of 1200 clusters are done"),
    condition("Selected=True", "Selected", "1200 clusters"),
  ],
};

function condition(said: string, reason: string, message: string) {
  const [type = ""] = said.split("=");
  const status = said.endsWith("True") ? ("True" as const) : ("False" as const);
  return { type, status, reason, message, lastTransitionTime: "2026-11-21T11:30:00Z" };
}

/** The same set in another phase. */
export function inPhase(
  rollout: NonNullable<FleetSetStatus["rollout"]>,
  status: Partial<FleetSetStatus> = {},
): FleetSetStatus {
  return { ...rolling, rollout: { startedAt, ...rollout }, ...status };
}

interface SetFacts {
  readonly status?: FleetSetStatus;
  readonly spec?: Partial<FleetSetSpec>;
  readonly generation?: number;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** KnativeServingSet platform/prod at generation 7. */
export function sampleSet(facts: SetFacts = {}): FleetSet {
  const { status = rolling, generation = 7, annotations = {} } = facts;
  return {
    apiVersion: "knfleet.dev/v1alpha1",
    kind: "KnativeServingSet",
    metadata: {
      namespace: "platform",
      name: "prod",
      uid: "set-uid",
      resourceVersion: "41",
      generation,
      annotations,
    },
    spec: { ...spec, ...facts.spec },
    status,
  };
}

/** The answer of a hub that takes a new set which it only has to check. */
export const takenSet: Answer = ({ method, body, query }) => {
  if (method !== "POST" || query?.get("dryRun") !== "All" || !isRecord(body)) return undefined;
  const metadata = { ...recordAt(body, "metadata"), uid: "new" };
  return { body: { ...body, metadata } };
};
