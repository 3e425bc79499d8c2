import type {
  ComponentState,
  ControllerFact,
  Direction,
  MigrationFacts,
  OperatorFacts,
  SetFact,
  Workload,
} from "../../../../../cmd/kubectl/commands/migrate/migration-facts.ts";
import { recordOf } from "../../../../../cmd/kubectl/commands/migrate/migration-record.ts";

const release = { namespace: "knative-operator", name: "knative-operator" };

export const upstreamController: ControllerFact = {
  ...release,
  resourceVersion: "7",
  wanted: 1,
  running: 1,
  available: 1,
  version: "1.24.0",
  release,
};

export const ourController: ControllerFact = {
  namespace: "knfleet-system",
  name: "knfleet-controller",
  resourceVersion: "7",
  wanted: 1,
  running: 1,
  available: 1,
  version: "0.1.0",
  release: { namespace: "knfleet-system", name: "knfleet" },
};

/** An operator whose only controller has other replicas. */
export function operatorWith(
  controller: ControllerFact,
  replicas: number,
  running = replicas,
): OperatorFacts {
  return {
    controllers: [{ ...controller, wanted: replicas, running, available: running }],
    holders: [],
  };
}

export const absent: OperatorFacts = { controllers: [], holders: [] };

const anchor = { namespace: "knative-eventing", name: "anchor", isImmutable: false };
const theirs = { ...anchor, hubId: null, componentUid: null, isComplete: false };

/** The anchor of a component that knfleet has. */
export const ours = { ...anchor, hubId: "hub", componentUid: "uid-1", isComplete: true };

export const component: ComponentState = {
  kind: "KnativeEventing",
  namespace: "knative-eventing",
  name: "knative-eventing",
  uid: "uid-1",
  clusterId: "fleet/eu-1",
  isReady: true,
  isDeleting: false,
  message: "",
  anchor: theirs,
  place: "knative-eventing",
};

export const workload: Workload = {
  namespace: "knative-eventing",
  name: "eventing-controller",
  uid: "11111111-a",
  generation: 1,
  template: "0123456789abcdef",
  isUpstreams: true,
};

/** A fleet set that leaves its components. */
export const set: SetFact = {
  kind: "KnativeServingSet",
  namespace: "fleet",
  name: "all",
  deletesComponents: false,
};

/** Objects of upstream's operator on the hub. */
const left = [{ apiVersion: "apps/v1", kind: "Deployment", ...release, uid: "operator" }];

/** Upstream's operator is at work on a hub with one component on one spoke. */
export function factsOf(
  direction: Direction,
  changes: Partial<MigrationFacts> = {},
): MigrationFacts {
  return {
    direction,
    hubId: "hub",
    upstream: operatorWith(upstreamController, 1),
    knfleet: absent,
    definitions: [{ name: "knativeservings.operator.knative.dev", release }],
    left,
    components: [component],
    clusters: [{ id: "fleet/eu-1", workloads: [workload], guards: 0 }],
    sets: [],
    record: undefined,
    recordNamespace: "knative-operator",
    remarks: [],
    ...changes,
  };
}

/** The same once the state before is noted. */
export function recorded(facts: MigrationFacts): MigrationFacts {
  return { ...facts, record: recordOf(facts) };
}
