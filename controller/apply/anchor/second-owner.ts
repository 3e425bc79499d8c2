import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { Component } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import { objectId } from "../../../api/keys.ts";
import {
  describe,
  type KubeObject,
  type Manifest,
  type OwnerReference,
} from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import {
  anchorAnnotations,
  anchorLabels,
  componentUidLabel,
  managedByValue,
  secondOwnerKey,
} from "../../../installation/anchor.ts";
import type { InstallAttempt } from "../install-attempt.ts";
import { withAudit } from "../install-state.ts";

const resource = knownResource("rbac.authorization.k8s.io/v1", "ClusterRole");

/** Whether the second owner still exists. True where none is needed. */
export function isSecondOwnerThere({
  component,
  memory,
  observation,
}: Pick<InstallAttempt, "component" | "memory" | "observation">): boolean {
  const { secondOwner } = memory.state;
  if (secondOwner === undefined) return true;
  const live = observation.objects().get(objectId(secondOwnerKey(component)));
  return live?.uid === secondOwner.uid && !live.deleting;
}

/** Reads or creates the second owner where the cluster needs one, and remembers it. */
export async function keepSecondOwner(attempt: InstallAttempt, signal: AbortSignal): Promise<void> {
  const { component, target, memory, deps } = attempt;
  if (deps.gate === undefined || !(await deps.gate.needsSecondOwner(signal))) {
    memory.become((state) => ({ ...state, secondOwner: undefined }));
    return;
  }
  if (memory.state.secondOwner !== undefined && isSecondOwnerThere(attempt)) return;
  const { owner, isNew } = await ensureSecondOwner({ ...target, component }, signal);
  // Objects that were sent before a new owner do not have it.
  memory.become((state) => ({ ...(isNew ? withAudit(state) : state), secondOwner: owner }));
}

interface SecondOwnerWork {
  readonly client: Pick<KubeClient, "get" | "apply">;
  readonly fieldManager: string;
  readonly hubId: string;
  readonly component: Component;
}

/**
 * Reads the second owner of an installation, and creates it when it is missing. Restores its label, by which the removal of the installation finds it.
 * Throws FleetError `AnchorConflict` when it belongs to another component. Spec: anchor-guard.md 9.
 */
export async function ensureSecondOwner(
  { client, fieldManager, hubId, component }: SecondOwnerWork,
  signal: AbortSignal,
): Promise<{ readonly owner: OwnerReference; readonly isNew: boolean }> {
  const key = secondOwnerKey(component);
  const ref = { resource, name: key.name };
  const live = await client.get(ref, { metadataOnly: true }, signal);
  if (live !== undefined && !isOurs(live, hubId, component)) {
    throw new FleetError("AnchorConflict", `${describe(key)} exists and is another component's`);
  }
  const isLabelled = live?.metadata.labels?.[componentUidLabel] !== undefined;
  if (live !== undefined && isLabelled && live.metadata.deletionTimestamp === undefined) {
    return { owner: ownerOf(live), isNew: false };
  }
  const options = { fieldManager, force: true, metadataOnly: true };
  const stored = await client.apply(ref, manifestOf(component, hubId), options, signal);
  return { owner: ownerOf(stored), isNew: stored.metadata.uid !== live?.metadata.uid };
}

/** The label decides, and without the label the annotations. */
function isOurs({ metadata }: KubeObject, hubId: string, component: Component): boolean {
  const { labels = {}, annotations = {} } = metadata;
  const { uid } = component.metadata;
  const label = labels[componentUidLabel];
  if (label !== undefined) return label === uid;
  const { componentUid, hubId: hub } = anchorAnnotations;
  return annotations[componentUid] === uid && annotations[hub] === hubId;
}

function manifestOf(component: Component, hubId: string): Manifest {
  const { kind, metadata } = component;
  const { uid, namespace, name } = metadata;
  const key = secondOwnerKey(component);
  return {
    apiVersion: key.apiVersion,
    kind: key.kind,
    metadata: {
      name: key.name,
      labels: { [anchorLabels.managedBy]: managedByValue, [componentUidLabel]: uid },
      annotations: {
        [anchorAnnotations.componentUid]: uid,
        [anchorAnnotations.hubId]: hubId,
        [anchorAnnotations.description]: `Second owner of everything that ${kind} ${namespace}/${name} installed, so that it outlives its anchor; grants nothing.`,
      },
    },
    rules: [],
  };
}

/** Sets neither `controller` nor `blockOwnerDeletion`: the anchor has both. */
function ownerOf({ metadata }: KubeObject): OwnerReference {
  const { apiVersion, kind } = resource;
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid };
}
