import { ServedProfiles } from "../../../../access/kube/profile-versions.ts";
import { clusterProfileApiVersion } from "../../../../api/cluster-profile.ts";
import { knownResource } from "../../../../api/resources.ts";
import { hubViewOf, listInstallations } from "../../hub/installations.ts";
import { allKinds } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import type { Offer, Word } from "./complete.ts";

type Of = Extract<Offer, { readonly kind: "names" }>["of"];

/** Names on the hub, each with a description. Throws what KubeClient throws. */
export async function hubNames(
  of: Exclude<Of, "contexts" | "reasons">,
  { access, namespace }: { readonly access: ClusterAccess; readonly namespace: string | undefined },
  signal: AbortSignal,
): Promise<readonly Word[]> {
  if (of === "installations") {
    const place = namespace === undefined ? {} : { namespace };
    const selection = { ...place, kinds: allKinds, names: [] };
    const components = await listInstallations(access, selection, signal);
    return components.map((component): Word => {
      const type = component.kind === "KnativeServing" ? "ks" : "ke";
      return [`${type}/${component.metadata.name}`, hubViewOf(component).state];
    });
  }
  const resource =
    of === "clusters"
      ? knownResource(clusterProfileApiVersion, "ClusterProfile")
      : knownResource("v1", "Namespace");
  const client = of === "clusters" ? new ServedProfiles(access.hub) : access.hub;
  const { items } = await client.list({ resource }, { metadataOnly: true }, signal);
  const counts = Map.groupBy(items, ({ metadata }) => metadata.name);
  return items.map(({ metadata: { name, namespace: place = "" } }): Word => {
    const isOne = counts.get(name)?.length === 1;
    return [isOne ? name : `${place}/${name}`, place];
  });
}
