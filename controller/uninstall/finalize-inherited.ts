import type { Component } from "../../api/component.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { anchorKindOf, componentUidLabel } from "../../installation/anchor.ts";
import { isOfLibrary } from "../apply/adoption/take-over.ts";
import { mayBeUpstreams, upstreamMarks } from "../apply/adoption/upstream-objects.ts";
import type { Anchor } from "../apply/anchor/anchor.ts";
import type { Target } from "../apply/target.ts";
import { labelledRoots } from "../reconcile/earlier-roots.ts";

/** How objects of upstream's operator are known that nobody has taken over, and that go with the component. */
export interface Inherited {
  readonly labelSelector: string;
  readonly isOne: (object: KubeObject) => boolean;
}

interface Place {
  readonly component: Component;
  readonly target: Target;
}

/**
 * What of upstream's operator is a component's that is removed before it was taken over, or in the middle of that; undefined where there can be nothing. What is
 * cluster-scoped, or in others' namespaces, says for none that it is its own: it stays while another anchor of the kind is on the cluster.
 */
export async function inheritedBy(
  { component, target }: Place,
  root: Anchor | undefined,
  signal: AbortSignal,
): Promise<Inherited | undefined> {
  if (!mayBeUpstreams({ component, target }, root)) return undefined;
  const roots = (await labelledRoots(target.client, signal)) ?? [];
  const isAlone = roots.every(
    ({ metadata: { uid, name } }) => uid === root?.uid || anchorKindOf(name) !== component.kind,
  );
  const { labelSelector, owner } = upstreamMarks({ component, target }, root);
  return {
    labelSelector,
    isOne: (object) => {
      const { labels = {}, ownerReferences = [] } = object.metadata;
      if (!isOfLibrary(object) || labels[componentUidLabel] !== undefined) return false;
      const controllers = ownerReferences.filter(({ controller }) => controller === true);
      return controllers.length === 0 ? isAlone : controllers.every(({ uid }) => uid === owner);
    },
  };
}
