import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient, ObjectRef } from "../../access/kube/kube-client.ts";
import { missingRightOf } from "../../access/kube/missing-right.ts";
import {
  codeOfRefusal,
  denialIn,
  isBadPatch,
  isNamespaceLeaving,
  obstacleIn,
} from "../../access/kube/obstacle.ts";
import type { Component } from "../../api/component.ts";
import {
  agentWorkName,
  type ManifestWork,
  pulledAnnotations,
  workApiVersion,
} from "../../api/delivery.ts";
import { FleetError } from "../../api/errors.ts";
import { isRecord, recordAt } from "../../api/fields.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { describe, type KubeObject, type Manifest } from "../../api/kubernetes.ts";
import type { Code } from "../../api/reasons.ts";
import { uncountedQuotaIn } from "../../api/refusal-texts.ts";
import { knownResource } from "../../api/resources.ts";
import { letsGo, namespaceGoes } from "../../api/sentences.ts";
import { installationNamespace } from "../../installation/installation-namespace.ts";
import type { ReconcileDeps } from "../reconcile/reconcile-deps.ts";
import { fieldManagerOf } from "../reconcile/resolve.ts";
import { asWork, isWork, workRef } from "./find-works.ts";
import { isApplied } from "./judge.ts";
import { componentWork, workHashAnnotation, workLabel } from "./works.ts";

type HubDeps = Pick<ReconcileDeps, "hub" | "hubId">;

/** Reads an object of the hub for pull delivery; undefined when there is none, or the hub knows no such kind. Throws FleetError for what the hub refuses. */
export function getFrom(hub: Pick<KubeClient, "get">, signal: AbortSignal) {
  return (ref: ObjectRef): Promise<KubeObject | undefined> =>
    orRefusal(ref, () => hub.get(ref, {}, signal));
}

interface WorkDeps extends HubDeps {
  readonly stored: ManifestWork | undefined;
}

/** Writes a work unless it is stored already. Throws FleetError `ClusterBusy` while an earlier one is being deleted, and for what the hub refuses the reason that says why. */
export async function ensureWork(
  desired: Manifest,
  { stored, ...deps }: WorkDeps,
  signal: AbortSignal,
): Promise<ManifestWork> {
  const { namespace = "", name = "" } = desired.metadata;
  if (stored?.metadata.deletionTimestamp !== undefined) {
    throw new FleetError("ClusterBusy", letsGo.work.of(`${namespace}/${name}`));
  }
  if (stored !== undefined && isWithin(desired, stored)) return stored;
  const options = { fieldManager: fieldManagerOf(deps.hubId), force: true };
  const ref = workRef(namespace, name);
  const written = await orRefusal(ref, () => deps.hub.apply(ref, desired, options, signal));
  return asWork(written) ?? stored ?? Promise.reject(new Error("The hub stored no work"));
}

/** Writes the work of a component unless it is stored already; see `ensureWork`. */
export function ensureComponentWork(
  component: Component,
  {
    cluster,
    spokeNamespace,
    ...deps
  }: WorkDeps & Pick<ReconcileDeps, "spokeNamespace"> & { readonly cluster: string },
  signal: AbortSignal,
): Promise<ManifestWork> {
  const namespace = installationNamespace(component, spokeNamespace);
  const { hubId } = deps;
  return ensureWork(componentWork(component, { cluster, namespace, hubId }), deps, signal);
}

/** An annotation; without a value it is taken off. */
interface Mark {
  readonly name: string;
  readonly value: string | undefined;
}

/**
 * Marks the copy of the component in its stored work, and changes nothing else that the spoke gets. The work loses its hash, so that `ensureWork` writes it as a whole if it is wanted again.
 * Returns the work as it was when the copy has the mark already.
 */
export async function markCopy(
  work: ManifestWork,
  { hub, ...mark }: Mark & { readonly hub: Pick<KubeClient, "patch"> },
  signal: AbortSignal,
): Promise<ManifestWork> {
  const stored = work.spec?.workload?.manifests ?? [];
  const manifests = stored.map((manifest) => withMark(manifest, mark));
  if (manifests.every((manifest, at) => manifest === stored[at])) return work;
  const { namespace, name, uid } = work.metadata;
  const ref = workRef(namespace, name);
  const metadata = { uid, annotations: { [workHashAnnotation]: null } };
  const patch = { metadata, spec: { workload: { manifests } } };
  return asWork(await orRefusal(ref, () => hub.patch(ref, patch, {}, signal))) ?? work;
}

function withMark(manifest: Manifest, { name, value }: Mark): Manifest {
  const { annotations = {} } = manifest.metadata;
  const isCopy = annotations[pulledAnnotations.hubComponentUid] !== undefined;
  if (!isCopy || annotations[name] === value) return manifest;
  const { [name]: _, ...others } = annotations;
  const marked = value === undefined ? others : { ...others, [name]: value };
  return { ...manifest, metadata: { ...manifest.metadata, annotations: marked } };
}

/** Deletes a work. Resolves when the deletion is requested: the agent of Open Cluster Management ends it. */
export async function deleteWork(
  { metadata: { namespace, name, uid } }: ManifestWork,
  hub: Pick<KubeClient, "remove">,
  signal: AbortSignal,
): Promise<void> {
  const ref = workRef(namespace, name);
  await orRefusal(ref, () => hub.remove(ref, { uid }, signal));
}

/**
 * Deletes a work and leaves on the spoke what it brought. The agent of Open Cluster Management has to learn that before the deletion: false while it has not. A work that is being deleted
 * already cannot be changed any more.
 */
export async function orphanWork(
  work: ManifestWork,
  hub: Pick<KubeClient, "patch" | "remove">,
  signal: AbortSignal,
): Promise<boolean> {
  const { deletionTimestamp, namespace, name, uid } = work.metadata;
  if (deletionTimestamp !== undefined) return true;
  if (isOrphaned(work) && isApplied(work)) {
    await deleteWork(work, hub, signal);
    return true;
  }
  const ref = workRef(namespace, name);
  const deleteOption = { propagationPolicy: "Orphan", selectivelyOrphans: null };
  const patch = { metadata: { uid }, spec: { deleteOption } };
  if (!isOrphaned(work)) await orRefusal(ref, () => hub.patch(ref, patch, {}, signal));
  return false;
}

/** Deletes those works of a cluster that were orphaned while it was silent. Throws FleetError `ClusterBusy` until they are gone: they would write the same objects as new ones. */
export async function removeOrphanedWorks(
  all: readonly ManifestWork[],
  hub: Pick<KubeClient, "patch" | "remove">,
  signal: AbortSignal,
): Promise<void> {
  const orphaned = all.filter((work) => isOrphaned(work) && work.metadata.name !== agentWorkName);
  await Promise.all(orphaned.map((work) => orphanWork(work, hub, signal)));
  const [first] = orphaned;
  if (first === undefined) return;
  const { namespace, name } = first.metadata;
  const message = letsGo.removedWork.of(`${namespace}/${name}`);
  throw new FleetError("ClusterBusy", message);
}

/** The works of knfleet for a cluster. Throws FleetError for what the hub refuses. */
export async function listWorks(
  cluster: string,
  hub: Pick<KubeClient, "list">,
  signal: AbortSignal,
): Promise<readonly ManifestWork[]> {
  const resource = knownResource(workApiVersion, "ManifestWork");
  const labelSelector = `${workLabel.key}=${workLabel.value}`;
  const ref = { resource, namespace: cluster, labelSelector };
  const { items } = await orRefusal({ ...ref, name: "" }, () => hub.list(ref, {}, signal));
  return items.filter(isWork);
}

/** Whether the deletion of a work leaves on the spoke what it brought. */
export function isOrphaned(work: ManifestWork): boolean {
  return recordAt(work, "spec", "deleteOption")["propagationPolicy"] === "Orphan";
}

/** Whether each field of an object has its value in another, which may have more fields: the API server adds defaults. */
function isWithin(part: unknown, whole: unknown): boolean {
  if (Array.isArray(part)) {
    if (!Array.isArray(whole) || whole.length !== part.length) return false;
    return part.every((entry, at) => isWithin(entry, whole[at]));
  }
  if (!isRecord(part)) return part === whole;
  if (!isRecord(whole)) return false;
  return Object.entries(part).every(([key, value]) => isWithin(value, whole[key]));
}

const longestText = 400;

/** The answer of a request about an object of Open Cluster Management. Throws a FleetError when the hub refuses it for good; other errors of the hub as they are. */
export async function orRefusal<T>(ref: ObjectRef, request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (cause) {
    throw cause instanceof ApiError ? (refusalOf(ref, cause) ?? cause) : cause;
  }
}

/** Why the hub refuses a request, in words of ours and then in its own; undefined for an answer after which the same request may succeed. */
function refusalOf(ref: ObjectRef, cause: ApiError): FleetError | undefined {
  const { kind, namespace, name } = { ...ref, kind: ref.resource.kind };
  const object =
    name === ""
      ? `${kind}s of namespace ${namespace ?? ""}`
      : describe({ kind, ...(namespace === undefined ? {} : { namespace }), name });
  if (denialIn(cause.message) === undefined && isNamespaceLeaving(cause.message)) {
    const message = `${object}: ${namespaceGoes.ofHub.of(namespace ?? "")}`;
    return new FleetError("ClusterBusy", message, { cause });
  }
  const { code, why } = whyRefused(cause) ?? {};
  if (why !== undefined) {
    const message = `${object}: ${why}: ${foreignText(cause.message, longestText)}`;
    return new FleetError("AccessProviderFailed", message, { ...(code && { code }), cause });
  }
  if (cause.status !== 404) return undefined;
  const message = `${object}: the hub has no namespace ${namespace ?? ""}, or serves no ManifestWork`;
  return new FleetError("AccessProviderFailed", message, { code: "NotManagedByOCM", cause });
}

/** Answers after which the same request is refused again. */
const final = [400, 403, 405, 413, 415, 422];

function whyRefused(error: ApiError): { readonly code: Code; readonly why: string } | undefined {
  const { status, message } = error;
  const obstacle = obstacleIn(error);
  if (codeOfRefusal(error) === "WebhookSilent") {
    return { code: "WebhookSilent", why: `the hub refuses it for now, because ${obstacle}` };
  }
  if (obstacle !== undefined) {
    return { code: "WorkRefused", why: `the hub refuses it, because ${obstacle}` };
  }
  const right = missingRightOf(error);
  if (right !== undefined) {
    return { code: "WorkRightMissing", why: `the controller lacks ${right} on the hub` };
  }
  if (uncountedQuotaIn(message) !== undefined) return undefined;
  const isFinal = final.includes(status) || isBadPatch(message);
  return isFinal ? { code: "WorkRefused", why: "the hub refuses it" } : undefined;
}
