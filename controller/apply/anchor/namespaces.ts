import { ApiError } from "../../../access/kube/api-error.ts";
import type { ObjectRef } from "../../../access/kube/kube-client.ts";
import type { Component } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import { isContained } from "../../../api/fields.ts";
import type { KubeObject, Manifest } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { namespaceGoes } from "../../../api/sentences.ts";
import {
  anchorAnnotations,
  anchorLabels,
  guardLabels,
  managedByValue,
} from "../../../installation/anchor.ts";
import { type FieldSet, stepsAt, unionOfFields } from "../../../installation/managed-fields.ts";
import { namespaceLabels } from "../../../render/namespace.ts";
import type { Target } from "../../target/target.ts";
import { ownPatch } from "../adoption/take-over.ts";

const resource = knownResource("v1", "Namespace");

/** A namespace as it is, and as it is to be. */
export interface OutdatedNamespace {
  readonly manifest: Manifest;
  readonly live: KubeObject;
}

/** The desired namespaces of an installation, compared with the namespaces on its cluster. */
export interface Namespaces {
  /** To be created. */
  readonly missing: readonly Manifest[];
  /**
   * Created for this component before, but with other labels or annotations than the desired ones. Also a namespace that a removed component left
   * behind without the guard's label.
   */
  readonly outdated: readonly OutdatedNamespace[];
  /** Created for this component before, as they are now. */
  readonly own: readonly KubeObject[];
}

/**
 * The namespaces that an installation creates: its own namespace, and the namespaces among the rendered objects. They carry `spec.namespace`, the
 * labels by which upstream and the guard recognize them, and the owner. Spec: knative-operator.md 3.2 and 5.4, anchor-guard.md 2.
 */
export function desiredNamespaces(
  { component, target }: { readonly component: Component; readonly target: Target },
  rendered: readonly Manifest[],
): readonly Manifest[] {
  const name = target.namespace;
  const own: Manifest = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
  const isNamed = rendered.some(({ metadata }) => metadata.name === name);
  const { namespaceConfiguration, namespace } = component.spec ?? {};
  const configured = namespaceLabels([namespaceConfiguration, namespace]);
  const all = [...(isNamed ? [] : [configured(own)]), ...rendered];
  return all.map((manifest) => {
    const { ownerReferences: _, ...metadata } = manifest.metadata;
    const labels = {
      ...metadata.labels,
      // Upstream's value wins, also over a value of the user.
      [anchorLabels.managedBy]: managedByValue,
      ...(target.profile === undefined ? {} : { [guardLabels.namespace]: target.hubId }),
    };
    const annotations = {
      ...metadata.annotations,
      [anchorAnnotations.componentUid]: component.metadata.uid,
    };
    return { ...manifest, metadata: { ...metadata, labels, annotations } };
  });
}

/**
 * Reads the namespaces and decides which of them have to be created or changed. A namespace that was not created for this component is never changed.
 * Throws FleetError `ClusterBusy` when a namespace is being deleted.
 */
export async function observeNamespaces(
  { client, fieldManager }: Pick<Target, "client" | "fieldManager">,
  wanted: readonly Manifest[],
  signal: AbortSignal,
): Promise<Namespaces> {
  const found = await Promise.all(
    wanted.map(async (manifest) => {
      const { name = "" } = manifest.metadata;
      const live = await client.get({ resource, name }, { metadataOnly: true }, signal);
      if (live?.metadata.deletionTimestamp !== undefined) {
        throw new FleetError("ClusterBusy", namespaceGoes.deleted.of(name));
      }
      return { manifest, live };
    }),
  );
  return {
    missing: found.filter(({ live }) => live === undefined).map(({ manifest }) => manifest),
    outdated: found.flatMap(({ manifest, live }) =>
      live !== undefined && isOutdated(manifest, live, fieldManager) ? [{ manifest, live }] : [],
    ),
    own: found.flatMap(({ manifest, live }) =>
      live !== undefined && isOwn(manifest, live) ? [live] : [],
    ),
  };
}

/** Tries to create namespaces and returns the created ones. An existing namespace is not touched. `createMissing` handles all other refusals. */
export async function createNamespaces(
  { client, fieldManager }: Pick<Target, "client" | "fieldManager">,
  wanted: readonly Manifest[],
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const tries = wanted.map(async (manifest) => {
    try {
      return [await client.create({ resource }, manifest, { fieldManager }, signal)];
    } catch (error) {
      if (error instanceof ApiError) return [];
      throw error;
    }
  });
  return (await Promise.all(tries)).flat();
}

/** Creates namespaces and returns them. A namespace that another client created meanwhile stays as it is. */
export async function createMissing(
  { client, fieldManager }: Pick<Target, "client" | "fieldManager">,
  missing: readonly Manifest[],
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const creations = missing.map(async (manifest) => {
    try {
      return [await client.create({ resource }, manifest, { fieldManager }, signal)];
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") throw error;
      return [];
    }
  });
  return (await Promise.all(creations)).flat();
}

/** Gives a namespace its desired labels and annotations, and returns it. */
export async function changeNamespace(
  { client, fieldManager }: Pick<Target, "client" | "fieldManager">,
  { manifest, live }: OutdatedNamespace,
  signal: AbortSignal,
): Promise<KubeObject> {
  const ref = namespaceRef(live);
  const options = { fieldManager, metadataOnly: true };
  const patch = ownPatch(live, fieldManager);
  if (patch !== undefined) await client.patch(ref, patch, options, signal);
  // With its uid an apply never creates.
  const body = { ...manifest, metadata: { ...manifest.metadata, uid: live.metadata.uid } };
  return client.apply(ref, body, { ...options, force: true }, signal);
}

/** Where a namespace is. */
export function namespaceRef({ metadata }: KubeObject): ObjectRef {
  return { resource, name: metadata.name };
}

/** Whether a namespace was created for the component that wants it. */
function isOwn(manifest: Manifest, live: KubeObject): boolean {
  const name = anchorAnnotations.componentUid;
  return live.metadata.annotations?.[name] === manifest.metadata.annotations?.[name];
}

function isOutdated(manifest: Manifest, live: KubeObject, manager: string): boolean {
  const { labels = {}, annotations = {} } = manifest.metadata;
  const entries = live.metadata.managedFields?.filter((entry) => entry.manager === manager) ?? [];
  const ours = entries.map(({ fieldsV1 = {} }) => fieldsV1).reduce(unionOfFields, {});
  if (!isOwn(manifest, live)) return isReleased(manifest, live, ours);
  return (
    differs(labels, live.metadata.labels, keysAt(ours, "f:labels")) ||
    differs(annotations, live.metadata.annotations, keysAt(ours, "f:annotations"))
  );
}

/** Whether we made a namespace for a component that is gone since: only its end takes the guard's label off. */
function isReleased(manifest: Manifest, live: KubeObject, ours: FieldSet): boolean {
  const { labels: wanted = {} } = manifest.metadata;
  const { labels = {} } = live.metadata;
  const label = guardLabels.namespace;
  const isMade = keysAt(ours, "f:annotations").includes(anchorAnnotations.componentUid);
  return isMade && Object.hasOwn(wanted, label) && !Object.hasOwn(labels, label);
}

function differs(
  wanted: Readonly<Record<string, string>>,
  live: Readonly<Record<string, string>> = {},
  ours: readonly string[],
): boolean {
  return !isContained(wanted, live) || ours.some((key) => !Object.hasOwn(wanted, key));
}

function keysAt(ours: FieldSet, field: string): readonly string[] {
  const steps = stepsAt(ours, ["f:metadata", field]);
  const keys = steps.filter((step) => step.startsWith("f:")).map((step) => step.slice(2));
  // The server sets this label. The managedFields count it as written by the creator of the namespace.
  return keys.filter((key) => key !== "kubernetes.io/metadata.name");
}
