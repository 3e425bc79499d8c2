import type { Component } from "../../api/component.ts";
import { type FieldProblem, below } from "../../api/field-path.ts";
import { isRecord, listAt, recordAt } from "../../api/fields.ts";
import { describe, keyOf, type Manifest, nameFirst } from "../../api/kubernetes.ts";
import { isImage, namedImages } from "../workloads/images.ts";
import { isWorkload } from "../workloads/pod-template.ts";

const maxNamed = 5;
const skipped = new Set(["_example", "annotations"]);

/** The images of the release that `spec.registry.default` does not reach. Empty without it. */
export function keptImages(
  { spec }: Component,
  released: readonly Manifest[],
  rendered: readonly (Manifest | undefined)[],
): readonly FieldProblem[] {
  const template = spec?.registry?.default ?? "";
  const override = spec?.registry?.override ?? {};
  if (template === "") return [];
  // An empty override keeps its image on purpose.
  const onPurpose = namedImages(released).filter(([name]) => override[name] === "");
  const chosen = new Set<unknown>([
    ...Object.values(override),
    ...configValues(spec),
    ...onPurpose.map(([, image]) => image),
  ]);
  const kept = released.flatMap((manifest, index) => {
    const now = rendered[index];
    if (now === undefined) return [];
    const before = new Set(imagesIn(manifest));
    const same = imagesIn(now).filter((image) => before.has(image) && !chosen.has(image));
    const where = describe(keyOf(now));
    return [...new Set(same)].map((image) => `${image} of ${where}`);
  });
  if (kept.length === 0) return [];
  const message = `does not reach ${nameFirst(kept, maxNamed)}; name them in spec.registry.override`;
  return [{ path: "spec.registry.default", message }];
}

function configValues(spec: Component["spec"]): readonly unknown[] {
  // A spec that no API server has seen can have null in place of an entry.
  return Object.values(recordAt(spec?.config)).flatMap((entry) => Object.values(recordAt(entry)));
}

/** The images in containers, variables and ConfigMaps of objects, each as often as it is there. */
export function imagesIn(value: unknown): readonly string[] {
  if (isImage(value)) return [value];
  if (Array.isArray(value)) return value.flatMap((item) => imagesIn(item));
  return isRecord(value)
    ? Object.entries(value).flatMap(([field, one]) => (skipped.has(field) ? [] : imagesIn(one)))
    : [];
}

/**
 * Where pull secrets are missing: Eventing makes pods in the namespaces of its users, for sources, sinks and channels. These pods have the service accounts of that
 * namespace.
 */
export function unreachedByPullSecrets(
  { kind, spec }: Component,
  released: readonly Manifest[],
): readonly FieldProblem[] {
  const secrets = spec?.registry?.imagePullSecrets ?? [];
  if (kind !== "KnativeEventing" || secrets.length === 0) return [];
  const makers = released.flatMap((manifest) =>
    isWorkload(manifest) && hasImageVariable(manifest) ? [manifest.metadata.name ?? ""] : [],
  );
  if (makers.length === 0) return [];
  const message = `reach the pods of the release only; ${nameFirst([...new Set(makers)], maxNamed)} make pods in the namespaces of users, whose service accounts need the secrets`;
  return [{ path: below("spec", "registry", "imagePullSecrets"), message }];
}

function hasImageVariable(manifest: Manifest): boolean {
  const pod = recordAt(manifest, "spec", "template", "spec");
  return listAt(pod, "containers").some((container) =>
    listAt(recordAt(container), "env").some((variable) =>
      String(recordAt(variable)["name"]).endsWith("_IMAGE"),
    ),
  );
}
