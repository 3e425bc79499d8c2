import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { SpokeConnection } from "../../../access/spokes/spokes.ts";
import {
  type ClusterProfileRef,
  type Component,
  operatorApiVersion,
} from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import type { KubeObject, ObjectMeta } from "../../../api/kubernetes.ts";
import type { Reason } from "../../../api/reasons.ts";
import { asComponent } from "../../../controller/component-identity.ts";
import { deliver } from "../../../controller/deliver.ts";
import type { NewEvent } from "../../../controller/events.ts";
import type { PullDeps } from "../../../controller/pull/pull-deps.ts";
import { Installation } from "../../../controller/reconcile/installation.ts";
import { bareClient, unexpected } from "../../support/bare-client.ts";
import { serving } from "../../support/component.ts";
import { componentsOf } from "../../support/components.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { hubWithNone, kind, name } from "../dispatched-hub.ts";

/** Annotation of a component that was pulled to the ManagedCluster of these tests. */
export const record = { "knfleet.dev/managed-cluster": "spoke-1" };

/** A component for the ClusterProfile of these tests. */
export function pulled(metadata: Partial<ObjectMeta> = {}): Component {
  return serving({
    metadata: { annotations: record, ...metadata },
    spec: { clusterProfileRef: { namespace: name, name: "spoke-1" } },
    status: { conditions: [] },
  });
}

interface ClusterOptions {
  /** The ManagedCluster that the ClusterProfile stands for; another than `spoke-1` is in a set that is bound to its namespace. Null: there is no ClusterProfile. */
  readonly label?: string | null;
  /** False: the namespace of these tests is bound to no set of clusters. */
  readonly isBound?: boolean;
  /** False: the controller has no `--agent-image`. */
  readonly pulls?: boolean;
  /** `--pull-namespace`; default: the namespace of these tests. */
  readonly namespaces?: readonly string[];
  /** Of the condition of the ManagedCluster; default: True. */
  readonly available?: "True" | "Unknown";
  /** Since when the ManagedCluster is being deleted; absent: it stays. */
  readonly goingSince?: string;
  /** Why the hub has no connection to the spoke. Absent: nobody is to ask. */
  readonly refusal?: Reason;
  /** What the spoke answers when its anchor is read. Absent: the hub has no connection, or nobody is to ask. */
  readonly anchor?: () => Promise<KubeObject | undefined>;
  /** Absent: there is no release. */
  readonly releases?: PullDeps["releases"];
  /** Called after each write of a work, with its name. */
  readonly onApplied?: (workName: string, memory: MemoryHub) => void;
}

/** Stores a ManagedCluster, a set of all clusters, and the binding of the namespace of these tests to it. */
function bindAll(memory: MemoryHub, cluster: string): void {
  memory.edit("ManagedCluster", cluster, {});
  const clusterSelector = { selectorType: "LabelSelector", labelSelector: {} };
  memory.edit("ManagedClusterSet", "all", { spec: { clusterSelector } });
  const binding = { metadata: { namespace: name, name: "all" }, spec: { clusterSet: "all" } };
  memory.edit("ManagedClusterSetBinding", "all", binding);
}

/** What the agent of Open Cluster Management tells of a work. */
export function tell(memory: MemoryHub, workName: string, values: readonly object[]): void {
  const work = memory.find("ManifestWork", workName);
  memory.edit("ManifestWork", workName, {
    ...work,
    status: {
      conditions: [{ type: "Applied", status: "True" }],
      resourceStatus: { manifests: [{ statusFeedback: { values } }] },
    },
  });
}

/** The work of the agent is there, and its controller runs. */
export function runAgent(memory: MemoryHub): void {
  memory.edit("ManifestWork", "knfleet-agent", { metadata: { namespace: "spoke-1" } });
  tell(memory, "knfleet-agent", [{ name: "available", fieldValue: { integer: 1 } }]);
}

/** A hub with the ManagedCluster `spoke-1`, and attempts for its components. */
export function hubThatPulls({
  label = "spoke-1",
  isBound = true,
  pulls = true,
  namespaces = [name],
  available = "True",
  goingSince,
  refusal,
  anchor,
  releases,
  onApplied,
}: ClusterOptions = {}) {
  const memory = new MemoryHub();
  const { deps, clock } = hubWithNone({ memory });
  const condition = { type: "ManagedClusterConditionAvailable", status: available };
  const managed = { metadata: { name: "spoke-1", deletionTimestamp: goingSince } };
  memory.edit("ManagedCluster", "spoke-1", { ...managed, status: { conditions: [condition] } });
  if (label !== null) {
    const labels = { "open-cluster-management.io/cluster-name": label };
    const profile = { namespace: name, name: "spoke-1", labels };
    const spec = { clusterManager: { name: "open-cluster-management" } };
    memory.edit("ClusterProfile", "spoke-1", { metadata: profile, spec });
    if (label !== "spoke-1" && isBound) bindAll(memory, label);
  }
  const requests: string[] = [];
  const places: string[] = [];
  const note = (verb: string, ref: { readonly namespace?: string; readonly name: string }) => {
    requests.push(`${verb} ${ref.name}`);
    places.push(ref.namespace ?? "");
  };
  const hub = {
    ...deps.hub,
    list: memory.list,
    patch: async (...args: Parameters<typeof memory.patch>) => {
      if (args[0].resource.kind === "ManifestWork") note("patch", args[0]);
      return memory.patch(...args);
    },
    // As for an object with a finalizer.
    remove: async (ref: { readonly namespace?: string; readonly name: string }) => {
      note("delete", ref);
      return "gone" as const;
    },
    apply: async (ref: { readonly namespace?: string; readonly name: string }, object: object) => {
      note("apply", ref);
      const written = memory.edit("ManifestWork", ref.name, { ...object });
      onApplied?.(ref.name, memory);
      return written;
    },
  };
  const told: string[] = [];
  const take = (_: unknown, { reason, message }: NewEvent): Promise<void> => {
    told.push(`${reason}: ${message}`);
    return Promise.resolve();
  };
  const events = { record: take, audit: take };
  const acquire = async (ref: ClusterProfileRef): Promise<SpokeConnection> => {
    if (refusal !== undefined) throw new FleetError(refusal, "the hub has no connection");
    if (anchor === undefined) return unexpected();
    const get: KubeClient["get"] = ({ resource }) =>
      resource.kind === "ConfigMap" ? anchor() : Promise.resolve(undefined);
    const profile = { namespace: ref.namespace, name: ref.name, uid: "profile" };
    const { signal } = new AbortController();
    return { client: bareClient({ get }), profile, provider: "", fingerprint: "", signal };
  };
  const settings = { mode: "Auto", agentImage: "image", namespaces } as const;
  const pull = { ...settings, watch: { open: () => undefined } };
  return {
    now: clock.date().toISOString(),
    memory,
    /** Events, in their order. */
    told,
    /** Writes to works, in their order. */
    requests,
    /** The namespaces of these works. */
    places,
    /** A work of a component, by default of that of these tests; with further annotations of the copy that it brings. */
    storeWork: (
      workName: string,
      metadata: object = {},
      uid = serving().metadata.uid,
      further: object = {},
    ): void => {
      const labels = { "knfleet.dev/component-uid": uid };
      const annotations = { ...further, "knfleet.dev/hub-component-uid": uid };
      const copy = { apiVersion: operatorApiVersion, kind, metadata: { name, annotations } };
      memory.edit("ManifestWork", workName, {
        apiVersion: "work.open-cluster-management.io/v1",
        metadata: { namespace: "spoke-1", uid: "u", name: workName, labels, ...metadata },
        spec: { workload: { manifests: [copy] } },
      });
    },
    /** One attempt for a component, beside others; the component as it is stored then. */
    attempt: async (
      component: Component,
      others: readonly Component[] = [],
      installation = new Installation(component.metadata.uid),
    ) => {
      memory.edit(kind, name, component);
      const components = componentsOf(() => [component, ...others]);
      const spokes = { ...deps.spokes, acquire };
      const all = {
        ...deps,
        ...(releases === undefined ? {} : { releases }),
        hub,
        events,
        components,
        ...(pulls ? { pull } : {}),
        spokes,
        onChange: () => undefined,
      };
      await installation.attempt(
        { component, ...all },
        (writer, signal) => deliver({ component, installation, writer }, all, signal),
        new AbortController().signal,
      );
      return asComponent(memory.find(kind, name));
    },
  };
}
