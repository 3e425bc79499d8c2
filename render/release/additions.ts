import { identityOf, keyOf, type Manifest } from "../../api/kubernetes.ts";
import { withoutDuplicates } from "../objects/duplicates.ts";

/**
 * The objects with those of `spec.additionalManifests`, which take the place of equally named ones and come last. They are
 * compared as they are on the cluster, after everything was moved into one namespace (upstream's are compared before, D-20);
 * of an identity that they hold twice the last stands. Their Namespaces are merged. Spec: knative-operator.md 2.5.
 */
export function withAdditions(
  manifests: readonly Manifest[],
  added: readonly Manifest[],
): readonly Manifest[] {
  if (added.length === 0) return manifests;
  const replacing = new Map(
    added.filter((one) => !isNamespace(one)).map((one) => [idOf(one), one] as const),
  );
  const kept = withoutDuplicates([...manifests, ...added.filter(isNamespace)]);
  return [...kept.filter((one) => !replacing.has(idOf(one))), ...replacing.values()];
}

function isNamespace({ apiVersion, kind }: Manifest): boolean {
  return apiVersion === "v1" && kind === "Namespace";
}

function idOf(manifest: Manifest): string {
  return identityOf(keyOf(manifest));
}
