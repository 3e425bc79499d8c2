import type { Component } from "../../../api/component.ts";
import {
  type FleetSet,
  fleetSetApiVersion,
  type FleetSetKind,
  type FleetSetStatus,
  revisionAnnotations,
  setLabels,
} from "../../../api/fleet-set.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { type RevisionContent, revisionNameOf } from "../../../sets/desired-spec.ts";
import { revisionObject } from "../../../sets/revision-object.ts";
import { component, type ComponentFacts } from "./fleet-facts.ts";

interface SetFacts {
  readonly kind?: FleetSetKind;
  readonly namespace?: string;
  readonly name?: string;
  readonly generation?: number;
  readonly status?: FleetSetStatus;
}

const conditions = [
  {
    type: "Complete",
    status: "False",
    reason: "Rolling",
    message: "Clusters are changing",
    lastTransitionTime: "2026-11-21T11:00:00Z",
  },
] as const;

/** What a set says while its second stage is rolled out. */
const rolling: FleetSetStatus = {
  observedGeneration: 1,
  currentRevision: "prod-6d4f9c01ab",
  updateRevision: "prod-7c9f1b77e2",
  rollout: { phase: "Rolling", stage: "early", startedAt: "2026-11-21T11:00:00Z" },
  clusters: { selected: 12, done: 5, failed: 1, pending: 5, updating: 1 },
  stages: [
    {
      name: "canary",
      state: "Passed",
      clusters: 2,
      done: 2,
      failed: 0,
      updating: 0,
      unreachable: 0,
    },
    {
      name: "early",
      state: "Rolling",
      clusters: 10,
      done: 3,
      failed: 1,
      updating: 1,
      unreachable: 0,
    },
  ],
  conditions,
};

/** What an API server fills into a rollout. */
export const rolloutDefaults = {
  unmatched: "Last",
  order: "Hashed",
  minReadySeconds: 0,
  progressDeadline: "15m",
  onFailure: "Pause",
  paused: false,
} as const;

/** What an API server fills into the rest of a spec. */
export const specDefaults = {
  adoption: "IfEqual",
  deletionPolicy: "Orphan",
  revisionHistoryLimit: 10,
} as const;

/** A set as the hub returns it: of two stages, the second of which is rolled out unless said otherwise. */
export function fleetSet(facts: SetFacts = {}): FleetSet {
  const { kind = "KnativeServingSet", namespace = "team-a", name = "prod", generation = 1 } = facts;
  return {
    apiVersion: fleetSetApiVersion,
    kind,
    metadata: {
      namespace,
      name,
      generation,
      uid: `uid-${kind}-${namespace}-${name}`,
      resourceVersion: "1",
      creationTimestamp: "2026-11-18T08:00:00Z",
    },
    spec: {
      clusters: { from: "Selector", selector: {} },
      template: { spec: { version: "1.23" } },
      rollout: {
        stages: [
          { name: "canary", selector: {}, maxConcurrency: 1 },
          { name: "early", selector: {} },
        ],
        ...rolloutDefaults,
      },
      ...specDefaults,
    },
    status: facts.status ?? rolling,
  };
}

/** A set in a phase, as its status tells it. */
export function phased(
  phase: NonNullable<FleetSetStatus["rollout"]>["phase"],
  more: Omit<NonNullable<FleetSetStatus["rollout"]>, "phase"> = {},
): FleetSetStatus {
  const isComplete = phase === "Complete";
  const said = {
    type: "Complete",
    status: isComplete ? "True" : "False",
    reason: phase ?? "",
    message: more.waitingFor ?? `It is ${phase}`,
    lastTransitionTime: "2026-11-21T11:00:00Z",
  } as const;
  return {
    ...rolling,
    rollout: { ...(phase === undefined ? {} : { phase }), ...more },
    conditions: [said],
  };
}

/** A component that a set has stamped. */
export function stamped(
  { kind, metadata: { name } }: FleetSet,
  facts: ComponentFacts & { readonly stage?: string; readonly revision?: string } = {},
): Component {
  const { stage = "canary", revision = "prod-7c9f1b77e2", ...own } = facts;
  const made = component({
    kind: kind === "KnativeServingSet" ? "KnativeServing" : "KnativeEventing",
    ...own,
  });
  const labels = {
    [setLabels.set]: name,
    [setLabels.kind]: kind,
    [setLabels.revision]: revision,
    [setLabels.stage]: stage,
  };
  return { ...made, metadata: { ...made.metadata, labels } };
}

/** A set whose second stage waits for an approval. */
export function awaitingSet(): FleetSet {
  const set = fleetSet({ status: phased("AwaitingApproval", { stage: "early" }) });
  const { spec, status = {} } = set;
  const { rollout } = spec;
  if (rollout === undefined) throw new Error("The set has no stages");
  const stages = [
    { name: "canary", selector: {} },
    { name: "early", selector: {}, after: { approval: true } },
  ];
  return {
    ...set,
    spec: { ...spec, rollout: { ...rollout, stages } },
    status: {
      ...status,
      stages: (status.stages ?? []).map((stage) =>
        stage.name === "early" ? { ...stage, state: "AwaitingApproval" } : stage,
      ),
    },
  };
}

/** A revision of `fleetSet()` that was rolled out, as the hub stores it. */
export function completedRevision(
  number: number,
  template: RevisionContent["template"],
  annotations: Readonly<Record<string, string>> = {},
): KubeObject {
  const set = fleetSet();
  const name = revisionNameOf({ ...set, spec: { template } });
  const object = revisionObject(set, { name, number, content: { template } });
  const marks = { [revisionAnnotations.completed]: String(number), ...annotations };
  return {
    ...object,
    metadata: { ...object.metadata, name, uid: name, resourceVersion: "1", annotations: marks },
  };
}
