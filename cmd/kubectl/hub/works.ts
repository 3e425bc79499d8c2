import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { Component } from "../../../api/component.ts";
import { managedClusterOf } from "../../../api/delivery.ts";
import { findWorks } from "../../../controller/pull/find-works.ts";
import type { PullFacts } from "../../../controller/pull/judge.ts";

/** Reads what the hub holds of a component that is pulled, with three requests. Throws the errors of KubeClient. */
export async function readWorks(
  component: Component,
  hub: Pick<KubeClient, "get">,
  signal: AbortSignal,
): Promise<PullFacts> {
  const cluster = managedClusterOf(component) ?? "";
  const found = await findWorks(component, cluster, (ref) => hub.get(ref, {}, signal));
  const { generation = 0 } = component.metadata;
  return { cluster, ...found, generation };
}
