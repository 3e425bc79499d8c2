import type { ComponentKind } from "../../api/component.ts";
import { keyOf, type KubeObject, type Manifest } from "../../api/kubernetes.ts";
import { componentOf } from "../e2e/installation.ts";
import type { Cluster, Profile } from "../fleet/fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";

const limitMs = 300_000;

/** One component of each kind for each profile. Those of one kind share a namespace on the hub, and each has its usual one on its spoke. */
export function componentsOn(
  profiles: readonly Pick<Profile, "namespace" | "name">[],
  kinds: readonly ComponentKind[],
): readonly Manifest[] {
  return profiles.flatMap(({ namespace, name }) =>
    kinds.map((kind) => {
      const component = componentOf({ kind, on: { namespace, name } });
      return { ...component, metadata: { ...component.metadata, name } };
    }),
  );
}

/** Creates the components at once; their namespaces first. */
export async function createAll(hub: Cluster, components: readonly Manifest[]): Promise<void> {
  const namespaces = new Set(components.map(({ metadata }) => metadata.namespace ?? ""));
  for (const name of namespaces) {
    await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  await Promise.all(components.map((component) => hub.admin.create(component)));
}

/** Waits until that is so of every one of the components. */
export async function allAre(
  hub: Cluster,
  components: readonly Manifest[],
  [what, isSo]: readonly [string, (component: KubeObject | undefined) => boolean],
): Promise<void> {
  await waitFor(
    `${components.length} components to be ${what}`,
    async () => (await Promise.all(components.map((one) => hub.admin.get(keyOf(one))))).every(isSo),
    { timeoutMs: limitMs },
  );
}

/** Deletes the components at once and waits until the hub has let all of them go. */
export async function removeAll(hub: Cluster, components: readonly Manifest[]): Promise<void> {
  await Promise.all(components.map((component) => hub.admin.remove(keyOf(component))));
  await allAre(hub, components, ["gone", (component) => component === undefined]);
}
