import type { KubeObject } from "../../../api/kubernetes.ts";
import { inventoryTextOf } from "../../../installation/anchor-object.ts";
import { anchorAnnotations } from "../../../installation/anchor.ts";
import { decodeInventory } from "../../../installation/inventory.ts";

/** What a command needs to know of the root ConfigMap of an installation. */
export interface AnchorFact {
  readonly namespace: string;
  readonly name: string;
  /** The component on the hub that it belongs to; null when the upstream operator made it. */
  readonly componentUid: string | null;
  /** `namespace/name` of the Deployments that the installation should have; empty when nothing says so. */
  readonly deployments: readonly string[];
}

/** The facts of an anchor as an API server returned it. */
export function anchorFactOf(object: KubeObject): AnchorFact {
  const { namespace = "", name, annotations = {} } = object.metadata;
  const entries = decodeInventory(inventoryTextOf(object))?.entries ?? [];
  return {
    namespace,
    name,
    componentUid: annotations[anchorAnnotations.componentUid] ?? null,
    deployments: entries
      .filter(({ kind }) => kind === "Deployment")
      .map((entry) => `${entry.namespace ?? ""}/${entry.name}`)
      .toSorted(),
  };
}
