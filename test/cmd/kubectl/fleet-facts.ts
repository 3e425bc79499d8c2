import {
  type Component,
  componentKinds,
  type ComponentStatus,
  operatorApiVersion,
} from "../../../api/component.ts";
import type { Condition, KubeObject, ManagedFieldsEntry } from "../../../api/kubernetes.ts";
import {
  anchorFactOf,
  type SpokeFacts,
  type SpokeReading,
} from "../../../cmd/kubectl/spokes/spoke-facts.ts";
import { workloadFactOf } from "../../../cmd/kubectl/spokes/workload-fact.ts";
import { anchorManifest } from "../../../installation/anchor-object.ts";
import { anchorNameOf } from "../../../installation/anchor.ts";
import { encodeInventory } from "../../../installation/inventory.ts";

/** The moment at which all tests of the command line look at the fleet. */
export const now = new Date("2026-11-21T12:00:00Z");

export interface ComponentFacts {
  readonly kind?: Component["kind"];
  readonly namespace?: string;
  readonly name?: string;
  /** Name of the ClusterProfile in namespace `fleet`; null for the hub itself. */
  readonly cluster?: string | null;
  readonly ready?: Partial<Condition>;
  readonly status?: ComponentStatus;
  readonly wanted?: string;
  readonly generation?: number;
  readonly deletedAt?: string;
}

/** A component as the hub returns it; Ready since an hour unless said otherwise. */
export function component(facts: ComponentFacts = {}): Component {
  const {
    kind = "KnativeServing",
    namespace = "team-a",
    generation = 1,
    cluster = "spoke-1",
  } = facts;
  const name = facts.name ?? componentKinds[kind].label;
  const ready: Condition = {
    type: "Ready",
    status: "True",
    lastTransitionTime: "2026-11-21T11:00:00Z",
    ...facts.ready,
  };
  return {
    apiVersion: operatorApiVersion,
    kind,
    metadata: {
      namespace,
      name,
      generation,
      uid: `uid-${namespace}-${name}`,
      resourceVersion: "1",
      creationTimestamp: "2026-11-18T08:00:00Z",
      ...(facts.deletedAt === undefined ? {} : { deletionTimestamp: facts.deletedAt }),
    },
    spec: {
      ...(facts.wanted === undefined ? {} : { version: facts.wanted }),
      ...(cluster === null ? {} : { clusterProfileRef: { namespace: "fleet", name: cluster } }),
    },
    status: facts.status ?? { observedGeneration: 1, version: "1.23.0", conditions: [ready] },
  };
}

export interface DeploymentFacts {
  readonly name?: string;
  readonly namespace?: string;
  readonly label?: string;
  readonly uid?: string;
  readonly owner?: { readonly kind: string; readonly name: string } | null;
  readonly available?: boolean;
  readonly observedGeneration?: number;
  readonly replicas?: number;
  /** Manager that scaled it to zero. */
  readonly scaledBy?: string;
}

const servingAnchor = { kind: "ConfigMap", name: "knativeserving-knative-serving-root-owner" };

/** A Deployment as a spoke returns it: available, owned by the anchor of KnativeServing `knative-serving`. */
export function deployment(facts: DeploymentFacts = {}): KubeObject {
  const { owner = servingAnchor, uid, scaledBy } = facts;
  const replicas = scaledBy === undefined ? (facts.replicas ?? 1) : 0;
  const { name = "controller", namespace = "team-a" } = facts;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      name,
      namespace,
      uid: `uid-${name}`,
      resourceVersion: "1",
      generation: 2,
      creationTimestamp: "2026-11-18T08:00:00Z",
      labels: {
        "app.kubernetes.io/name": facts.label ?? "knative-serving",
        ...(uid === undefined ? {} : { "knfleet.dev/component-uid": uid }),
      },
      ...(owner === null
        ? {}
        : { ownerReferences: [{ apiVersion: "v1", uid: `uid-${owner.name}`, ...owner }] }),
      ...(scaledBy === undefined ? {} : { managedFields: scaledFields(scaledBy) }),
    },
    spec: {
      replicas,
      template: { spec: { containers: [{ name: "main", image: `example.com/${name}:1.23.0` }] } },
    },
    status: deploymentStatus(facts, replicas),
  };
}

function scaledFields(manager: string): readonly ManagedFieldsEntry[] {
  return [
    { manager: "knfleet", operation: "Apply", fieldsV1: { "f:spec": { "f:selector": {} } } },
    {
      manager,
      operation: "Update",
      time: "2026-11-21T11:20:00Z",
      fieldsV1: { "f:spec": { "f:replicas": {} } },
    },
  ];
}

function deploymentStatus(
  { available = true, observedGeneration = 2 }: DeploymentFacts,
  replicas: number,
): object {
  return {
    observedGeneration,
    updatedReplicas: replicas,
    readyReplicas: available ? replicas : 0,
    availableReplicas: available ? replicas : 0,
    conditions: [
      {
        type: "Available",
        status: available ? "True" : "False",
        lastTransitionTime: "2026-11-21T11:56:30Z",
      },
    ],
  };
}

/** The anchor ConfigMap of a component as upstream makes it, in the component's own namespace unless another is named. */
export function anchorOf(owner: Component, namespace = owner.metadata.namespace): KubeObject {
  const name = anchorNameOf({ kind: owner.kind, name: owner.metadata.name });
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace, name, uid: `uid-${name}`, resourceVersion: "1" },
  };
}

/** The anchor of a component as this project makes it, with an inventory of Deployments and of other workloads. */
export function ownAnchorOf(
  owner: Component,
  deployments: readonly string[],
  others: readonly { readonly kind: string; readonly name: string }[] = [],
): KubeObject {
  const { namespace } = owner.metadata;
  const all = [...deployments.map((name) => ({ kind: "Deployment", name })), ...others];
  const rest = { apiVersion: "apps/v1", namespace, hash: "x", fingerprint: "y" };
  const inventory = encodeInventory({
    version: "1.23.0",
    complete: true,
    entries: all.map((one) => ({ ...rest, ...one })),
  });
  const target = { namespace, hubId: "hub", profile: { namespace: "fleet", name: "spoke-1" } };
  const manifest = anchorManifest({ component: owner, target }, inventory);
  const { metadata } = anchorOf(owner);
  return { ...manifest, metadata: { ...metadata, ...manifest.metadata, name: metadata.name } };
}

/** What a spoke says that has these anchors and Deployments. */
export function reading(
  anchors: readonly KubeObject[] | undefined,
  deployments: readonly KubeObject[],
): SpokeReading & { readonly facts: SpokeFacts } {
  return {
    kind: "read",
    facts: {
      server: "https://spoke-1.example.com:6443",
      provider: "secretreader",
      kubernetesVersion: "v1.36.3",
      workloads: deployments.map((one) => workloadFactOf(one, now)),
      unlisted: [],
      anchors: anchors?.map(anchorFactOf),
    },
  };
}
