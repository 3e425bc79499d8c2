import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { componentKinds } from "../../../api/component.ts";
import { knownResource } from "../../../api/resources.ts";
import { anchorLabels, managedByValue } from "../../../installation/anchor.ts";
import { anchorFactOf, type AnchorFact } from "../hub/anchor-fact.ts";
import { ifDenied } from "../if-denied.ts";
import { stringAt } from "../selection/fields.ts";
import { deploymentFactOf, type DeploymentFact } from "./deployment-fact.ts";

/** What one cluster says about the Knative installations on it. */
export interface SpokeFacts {
  readonly server: string;
  /** Name of the access provider; null for the hub itself. */
  readonly provider: string | null;
  readonly kubernetesVersion: string | null;
  /** Deployments labelled as Knative Serving or Eventing, of all namespaces. */
  readonly deployments: readonly DeploymentFact[];
  /** Anchors of all namespaces; undefined when the credential may not list ConfigMaps. */
  readonly anchors: readonly AnchorFact[] | undefined;
}

const labels = Object.values(componentKinds).map(({ label }) => label);

/** Reads a cluster's facts in three parallel requests. Throws what KubeClient throws. */
export async function readSpokeFacts(
  client: KubeClient,
  provider: string | null,
  signal: AbortSignal,
): Promise<SpokeFacts> {
  // The Deployments are what matters; a credential that may read nothing else still gives an answer.
  const [version, deployments, anchors] = await Promise.all([
    client.request("GET", "/version", undefined, signal).catch(ifDenied),
    client.list(
      {
        resource: knownResource("apps/v1", "Deployment"),
        labelSelector: `app.kubernetes.io/name in (${labels.join(",")})`,
      },
      {},
      signal,
    ),
    client
      .list(
        {
          resource: knownResource("v1", "ConfigMap"),
          labelSelector: `${anchorLabels.managedBy}=${managedByValue},${anchorLabels.componentName}`,
        },
        {},
        signal,
      )
      .catch(ifDenied),
  ]);
  return {
    server: client.server,
    provider,
    kubernetesVersion: stringAt(version, "gitVersion"),
    deployments: deployments.items.map(deploymentFactOf),
    anchors: anchors?.items.map(anchorFactOf),
  };
}
