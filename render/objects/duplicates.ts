import { identityOf, keyOf, type Manifest } from "../../api/kubernetes.ts";
import { setEntries } from "../fields.ts";

/**
 * The objects with each identity once. The first one stands, because the component's own objects come before those of its
 * ingresses and sources (D-09); Namespaces, which became equal by renaming, are merged into it (D-18). Of `winning`, an
 * object takes the place of the one it duplicates, or is added at the end (D-10).
 */
export function withoutDuplicates(
  manifests: readonly Manifest[],
  winning: readonly Manifest[] = [],
): readonly Manifest[] {
  const byIdentity = new Map<string, Manifest>();
  for (const manifest of manifests) {
    const id = identityOf(keyOf(manifest));
    const first = byIdentity.get(id);
    byIdentity.set(id, first === undefined ? manifest : resolved(first, manifest));
  }
  for (const manifest of winning) byIdentity.set(identityOf(keyOf(manifest)), manifest);
  return [...byIdentity.values()];
}

function resolved(first: Manifest, second: Manifest): Manifest {
  if (first.kind !== "Namespace" || first.apiVersion !== "v1") return first;
  const { labels, annotations } = first.metadata;
  return setEntries(
    setEntries(first, ["metadata", "labels"], { ...second.metadata.labels, ...labels }),
    ["metadata", "annotations"],
    { ...second.metadata.annotations, ...annotations },
  );
}
