import { ServedKind } from "../../../access/kube/profile-versions.ts";
import { clusterProfileApiVersion } from "../../../api/cluster-profile.ts";
import { allKinds } from "../../../api/component.ts";
import { fleetSetKinds } from "../../../api/fleet-set.ts";
import { knownResource } from "../../../api/resources.ts";
import { listSets } from "../hub/fleet-sets.ts";
import { hubViewOf, listInstallations } from "../hub/installations.ts";
import { shortNameOf } from "../output/names.ts";
import { allSetKinds } from "../selection/set-ref.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import type { Offer, Word } from "./complete.ts";

type Of = Extract<Offer, { readonly kind: "names" }>["of"];

interface Place {
  readonly access: ClusterAccess;
  readonly namespace: string | undefined;
}

/** Names on the hub, each with a description. Throws what KubeClient throws. */
export async function listHubNames(
  of: Exclude<Of, "contexts" | "reasons">,
  { access, namespace }: Place,
  signal: AbortSignal,
): Promise<readonly Word[]> {
  if (of === "waitedFor") {
    const both = ["installations", "sets"] as const;
    const lists = await Promise.all(
      both.map((each) => listHubNames(each, { access, namespace }, signal).catch(() => [])),
    );
    return lists.flat();
  }
  if (of === "installations") {
    const place = namespace === undefined ? {} : { namespace };
    const selection = { ...place, kinds: allKinds, names: [] };
    const components = await listInstallations(access, selection, signal);
    return components.map((component): Word => {
      const { kind, metadata } = component;
      return [shortNameOf({ kind, name: metadata.name }), hubViewOf(component).state];
    });
  }
  if (of === "sets" || of === "stages")
    return await listSetWords(of, { access, namespace }, signal);
  const resource =
    of === "clusters"
      ? knownResource(clusterProfileApiVersion, "ClusterProfile")
      : knownResource("v1", "Namespace");
  const client = of === "clusters" ? new ServedKind(access.hub) : access.hub;
  const { items } = await client.list({ resource }, { metadataOnly: true }, signal);
  const counts = Map.groupBy(items, ({ metadata }) => metadata.name);
  return items.map(({ metadata: { name, namespace: place = "" } }): Word => {
    const isOne = counts.get(name)?.length === 1;
    return [isOne ? name : `${place}/${name}`, place];
  });
}

/** The sets with their phase, or their stages with the sets that have them. */
async function listSetWords(
  of: "sets" | "stages",
  { access, namespace }: Place,
  signal: AbortSignal,
): Promise<readonly Word[]> {
  const place = namespace === undefined ? {} : { namespace };
  const sets = (await listSets(access, { ...place, kinds: allSetKinds }, signal)).map((set) => {
    const ref = `${fleetSetKinds[set.kind].shortName}/${set.metadata.name}`;
    return { ref, phase: set.status?.rollout?.phase ?? "", rollout: set.spec.rollout };
  });
  if (of === "sets") return sets.map(({ ref, phase }): Word => [ref, phase]);
  const stages = sets.flatMap(({ ref, rollout }) =>
    (rollout?.stages ?? []).map(({ name }) => ({ name, ref })),
  );
  const byName = Map.groupBy(stages, ({ name }) => name);
  return [...byName].map(([name, all]): Word => [name, all.map(({ ref }) => ref).join(" ")]);
}
