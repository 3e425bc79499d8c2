import type { KubeClient } from "../../access/kube-client.ts";
import {
  anchorAnnotations,
  anchorLabels,
  componentUidLabel,
  managedByValue,
} from "../../api/anchor.ts";
import type { Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import {
  describe,
  type KubeObject,
  type ObjectKey,
  type OwnerReference,
} from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";

const apiVersion = "rbac.authorization.k8s.io/v1";
const resource = knownResource(apiVersion, "ClusterRole");

export interface TwinWork {
  readonly client: Pick<KubeClient, "get" | "apply">;
  readonly fieldManager: string;
  readonly hubId: string;
  readonly component: Component;
}

/** Key of the second owner of an installation: a ClusterRole, because it can own objects in every namespace and grants nothing. */
export function twinKeyOf({ kind, metadata }: Component): ObjectKey {
  const { namespace, name } = metadata;
  return {
    apiVersion,
    kind: "ClusterRole",
    name: `${kind.toLowerCase()}-${namespace}-${name}-root-owner`,
  };
}

/**
 * The second owner of an installation, made when it is missing. It carries the label of the installation, by which it goes with it. Throws FleetError
 * `AnchorConflict` when it is another component's. Spec: anchor-guard.md 9.
 */
export async function ensureTwin(
  { client, fieldManager, hubId, component }: TwinWork,
  signal: AbortSignal,
): Promise<{ readonly owner: OwnerReference; readonly isNew: boolean }> {
  const key = twinKeyOf(component);
  const { uid, namespace, name } = component.metadata;
  const ref = { resource, name: key.name };
  const live = await client.get(ref, { metadataOnly: true }, signal);
  if (live !== undefined && live.metadata.labels?.[componentUidLabel] !== uid) {
    throw new FleetError("AnchorConflict", `${describe(key)} exists and is another component's`);
  }
  if (live !== undefined && live.metadata.deletionTimestamp === undefined) {
    return { owner: ownerOf(live), isNew: false };
  }
  const manifest = {
    apiVersion: key.apiVersion,
    kind: key.kind,
    metadata: {
      name: key.name,
      labels: { [anchorLabels.managedBy]: managedByValue, [componentUidLabel]: uid },
      annotations: {
        [anchorAnnotations.componentUid]: uid,
        [anchorAnnotations.hubId]: hubId,
        [anchorAnnotations.description]: `Second owner of everything that ${component.kind} ${namespace}/${name} installed, so that it outlives its anchor; grants nothing.`,
      },
    },
    rules: [],
  };
  const options = { fieldManager, force: true, metadataOnly: true };
  return { owner: ownerOf(await client.apply(ref, manifest, options, signal)), isNew: true };
}

/** Neither controller nor blocking: the anchor is both. */
function ownerOf({ metadata }: KubeObject): OwnerReference {
  return { apiVersion, kind: "ClusterRole", name: metadata.name, uid: metadata.uid };
}
