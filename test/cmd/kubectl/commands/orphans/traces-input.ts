import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { clusterFindings } from "../../../../../cmd/kubectl/commands/orphans/cluster-findings.ts";
import type { Known, Traces } from "../../../../../cmd/kubectl/commands/orphans/orphan.ts";
import { component, now } from "../../fleet-facts.ts";

const place = { namespace: "fleet", name: "eu-1" };
export const remote = component({ cluster: "eu-1" });
export const { uid, namespace } = remote.metadata;

interface AnchorFacts {
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string | undefined;
  readonly hub?: string;
  readonly pulled?: Readonly<Record<string, string>>;
  readonly deletedAt?: string;
}

export function anchor(facts: AnchorFacts = {}): KubeObject {
  const { name = "knative-serving", hub = "this-hub" } = facts;
  const owner = "uid" in facts ? facts.uid : uid;
  const marks: Readonly<Record<string, string>> =
    owner === undefined
      ? {}
      : { "operator.knative.dev/cr-uid": owner, "operator.knative.dev/hub-id": hub };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      namespace: facts.namespace ?? namespace,
      name: `knativeserving-${name}-root-owner`,
      uid: "uid-of-anchor",
      resourceVersion: "1",
      labels: {
        "app.kubernetes.io/managed-by": "knative-operator",
        "operator.knative.dev/cr-name": name,
      },
      annotations: { ...marks, ...facts.pulled },
      ...(facts.deletedAt === undefined
        ? {}
        : { deletionTimestamp: facts.deletedAt, finalizers: ["example.com/keep"] }),
    },
  };
}

export function marked(kind: string, owner: string): KubeObject {
  const labels = { "knfleet.dev/component-uid": owner };
  return {
    apiVersion: "v1",
    kind,
    metadata: { namespace, name: "a", uid: "u", resourceVersion: "1", labels },
  };
}

export const none: Traces = {
  clusterUid: undefined,
  anchors: [],
  marked: [],
  guarded: [],
  denied: [],
};
const known: Known = {
  cluster: place,
  names: new Set(["fleet/eu-1"]),
  read: new Set(["", "fleet/eu-1", "fleet/us-1"]),
  components: [remote],
  hubId: "this-hub",
  nowMs: now.getTime(),
};

export function found(traces: Partial<Traces>, more: Partial<Known> = {}) {
  return clusterFindings({ ...none, ...traces }, { ...known, ...more });
}

export function guarded(hub: string, name: string): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name,
      uid: "u",
      resourceVersion: "1",
      labels: { "operator.knative.dev/anchor-namespace": hub },
    },
  };
}
