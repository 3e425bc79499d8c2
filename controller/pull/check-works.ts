import { ifServed } from "../../access/kube/api-error.ts";
import type { CollectionRef, KubeClient } from "../../access/kube/kube-client.ts";
import type { Component } from "../../api/component.ts";
import { managedClusterOf, type ManifestWork, workApiVersion } from "../../api/delivery.ts";
import { FleetError } from "../../api/errors.ts";
import { checkLabel, setAnnotations } from "../../api/fleet-set.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import {
  installationNamespace,
  type SpokeNamespaceMode,
} from "../../installation/installation-namespace.ts";
import { asWork, workRef } from "./find-works.ts";
import { getFrom, orRefusal } from "./hub-works.ts";
import { feedbackOf, refusalOf } from "./judge.ts";
import { type ManagedClusterDeps, managedClusterFor } from "./managed-cluster.ts";
import { checkWork } from "./works.ts";

const works = knownResource(workApiVersion, "ManifestWork");

/** Jobs as the hub knows them. Of anything else on the cluster it knows nothing. */
type JobClient = Pick<KubeClient, "get" | "list" | "create" | "remove">;

/** How the Jobs of checks reach a pulled component. */
export interface PulledJobs {
  readonly client: JobClient;
  /** Namespace of the installation on the cluster. */
  readonly place: { readonly namespace: string };
}

/**
 * A client for the Jobs of checks on the cluster of a pulled component: each Job is brought by a ManifestWork, whose feedback says how it ended. Rejects as `managedClusterFor`: the cluster that
 * the component names must still be the one of its ClusterProfile. The client throws a FleetError for a Job that the cluster refuses.
 */
export async function pulledJobs(
  component: Component,
  deps: ManagedClusterDeps & { readonly spokeNamespace: SpokeNamespaceMode },
  signal: AbortSignal,
): Promise<PulledJobs> {
  const ref = component.spec?.clusterProfileRef;
  const cluster = ref && (await managedClusterFor(ref, deps, signal));
  if (cluster === undefined || cluster !== managedClusterOf(component)) {
    const message = "The ClusterProfile leads to another ManagedCluster than the works";
    throw new FleetError("ReferenceNotPermitted", message);
  }
  const namespace = installationNamespace(component, deps.spokeNamespace);
  const { uid: componentUid } = component.metadata;
  return { client: jobClient(deps.hub, { cluster, componentUid }), place: { namespace } };
}

function jobClient(
  hub: Pick<KubeClient, "get" | "list" | "create" | "remove">,
  place: { readonly cluster: string; readonly componentUid: string },
): JobClient {
  const { cluster, componentUid } = place;
  /** The uid of each Job on the cluster, by the uid of its work, since it was first told. */
  const seen = new Map<string, string>();
  return {
    async get({ name }, _options, signal) {
      const work = asWork(await getFrom(hub, signal)(workRef(cluster, name)));
      const refusal = refusalOf(work, cluster);
      if (refusal !== undefined) throw refusal;
      return work && jobOf(work, seen);
    },
    async list({ resource }, _options, signal) {
      if (resource.kind !== "Job") return { items: [], resourceVersion: "" };
      const ref = worksOf(componentUid, cluster);
      return await hub.list(ref, { metadataOnly: true }, signal);
    },
    async create(_ref, job, _options, signal) {
      const ref = { resource: works, namespace: cluster };
      return await hub.create(ref, checkWork(job, place), {}, signal);
    },
    async remove({ name }, { uid = "" }, signal) {
      return await hub.remove(workRef(cluster, name), { uid }, signal);
    },
  };
}

/** The works with Jobs of checks that a component has in the namespace of a ManagedCluster. */
function worksOf(componentUid: string, namespace: string): CollectionRef {
  const labelSelector = `${componentUidLabel}=${componentUid},${checkLabel}`;
  return { resource: works, namespace, labelSelector };
}

/** The Job of a work, as far as the work tells: it has the metadata of the work. Throws FleetError `ApplyFailed` where the feedback is about another Job than before, or one that the work did not bring. */
function jobOf(work: ManifestWork, seen: Map<string, string>): KubeObject {
  const { uid, name, labels = {} } = work.metadata;
  const told = feedbackOf(work);
  const job = { apiVersion: "batch/v1", kind: "Job", metadata: work.metadata };
  const jobUid = told.get("uid");
  if (jobUid === undefined) return job;
  if (told.get("set") !== labels[setAnnotations.setUid]) {
    throw strange(name, "belongs to somebody else");
  }
  const known = seen.get(uid) ?? jobUid;
  if (known !== jobUid) throw strange(name, "was made anew on the cluster");
  seen.set(uid, known);
  const reason = told.get("reason");
  const conditions = [
    ...(told.get("complete") === "True" ? [{ type: "Complete", status: "True" }] : []),
    ...(told.get("failed") === "True" ? [{ type: "Failed", status: "True", reason }] : []),
  ];
  return { ...job, status: { conditions } };
}

function strange(name: string, how: string): FleetError {
  return new FleetError("ApplyFailed", `Job ${name} ${how}`);
}

/** Deletes the works with the Jobs of checks that were run for a component. Resolves when the deletion is requested. */
export async function removeCheckWorks(
  component: Component,
  { hub, cluster }: { readonly hub: Pick<KubeClient, "list" | "remove">; readonly cluster: string },
  signal: AbortSignal,
): Promise<void> {
  const { uid } = component.metadata;
  const ref = worksOf(uid, cluster);
  const found = await orRefusal({ ...ref, name: "" }, () =>
    ifServed(hub.list(ref, { metadataOnly: true }, signal)),
  );
  for (const { metadata } of found?.items ?? []) {
    const { labels = {} } = metadata;
    if (labels[componentUidLabel] !== uid || labels[checkLabel] === undefined) continue;
    const own = workRef(cluster, metadata.name);
    // oxlint-disable-next-line no-await-in-loop -- one or two
    await orRefusal(own, () => hub.remove(own, { uid: metadata.uid }, signal));
  }
}
