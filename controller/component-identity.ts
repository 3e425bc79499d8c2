import type { ObjectRef } from "../access/kube/kube-client.ts";
import {
  type ClusterProfileRef,
  type Component,
  operatorApiVersion,
  componentKinds,
} from "../api/component.ts";
import { namespacedName } from "../api/keys.ts";
import { describe, type KubeObject } from "../api/kubernetes.ts";
import { knownResource } from "../api/resources.ts";
import { isOlder } from "../installation/observed-object.ts";

/** The cluster that a component is for, at the beginning of a message. */
export function clusterNameOf({ spec }: Component): string {
  const ref = spec?.clusterProfileRef;
  return ref === undefined ? "The hub" : describe({ kind: "ClusterProfile", ...ref });
}

/** A stored object as a component; undefined for anything else. The CRD's schema has checked its fields. */
export function asComponent(object: KubeObject | undefined): Component | undefined {
  return object !== undefined && isComponent(object) ? object : undefined;
}

function isComponent(object: KubeObject): object is Component {
  const { apiVersion, kind, metadata } = object;
  return (
    apiVersion === operatorApiVersion &&
    (kind === "KnativeServing" || kind === "KnativeEventing") &&
    metadata.namespace !== undefined
  );
}

/** The reference to a component on the hub. */
export function componentRef({ apiVersion, kind, metadata }: Component): ObjectRef {
  const { namespace, name } = metadata;
  return { resource: knownResource(apiVersion, kind), namespace, name };
}

/** The newer one of two states of an object, by resourceVersion; the second when they cannot be compared. */
export function newerOf<T extends KubeObject>(a: T | undefined, b: T): T {
  if (a === undefined || a.metadata.uid !== b.metadata.uid) return b;
  return isOlder(b.metadata, a.metadata) ? a : b;
}

/** The ClusterProfile of a target, as `targetId` names it; undefined for the hub. */
export function profileOfTarget(target: string): ClusterProfileRef | undefined {
  return target === "" ? undefined : namespacedName(target);
}

/** Whether a component has our finalizer. */
export function hasFinalizer({ kind, metadata }: Component): boolean {
  return (metadata.finalizers ?? []).includes(componentKinds[kind].finalizer);
}
