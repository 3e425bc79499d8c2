import type { Manifest } from "../../../api/kubernetes.ts";
import { prepare, type DesiredObject } from "../../../installation/desired.ts";

/** A manifest in few words: `apps/v1 Deployment ns/name`, or without a namespace. */
export function manifestOf(text: string, fields: object = {}): Manifest {
  const [apiVersion = "", kind = "", place = ""] = text.split(" ");
  const slash = place.indexOf("/");
  const name = place.slice(slash + 1);
  const metadata = slash < 0 ? { name } : { namespace: place.slice(0, slash), name };
  return { apiVersion, kind, metadata, ...fields };
}

/** A CustomResourceDefinition of a namespaced kind in group `test.dev`. */
export function definitionOf(kind: string): Manifest {
  const plural = `${kind.toLowerCase()}s`;
  return manifestOf(`apiextensions.k8s.io/v1 CustomResourceDefinition ${plural}.test.dev`, {
    spec: { group: "test.dev", scope: "Namespaced", names: { kind, plural } },
  });
}

/** The objects of a set as they would be sent. */
export function preparedOf(manifests: readonly Manifest[]): readonly DesiredObject[] {
  return prepare({ version: "1.0.0", manifests }).objects;
}
