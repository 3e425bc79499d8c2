import { forceOrphanAnnotation, keepWhileUsedAnnotation } from "../../../api/component.ts";
import { deliveryAnnotation } from "../../../api/delivery.ts";
import { textsOf } from "../../../api/fields.ts";
import type { SetOverride } from "../../../api/fleet-set.ts";
import { isOwn } from "../metadata.ts";
import {
  annotationProblems,
  isLabelName,
  isSubdomain,
  labelProblems,
  labelSelectorProblems,
  valueProblem,
} from "../names.ts";
import { below, type Problem, problemAt, problemIf, quoteValue } from "../rule.ts";
import type { SetCheck } from "./set-rule.ts";

/** Refuses label selectors that the API server would refuse in a list request, and names that no object can have. */
export const selectors: SetCheck = ({ spec }) => {
  const { selector = {}, placementDecision = {}, ocmPlacement, exclude = [] } = spec.clusters;
  const at = below("spec", "clusters");
  return [
    ...labelSelectorProblems(selector, below(at, "selector")),
    ...(selector.namespaces ?? []).flatMap((name, index) =>
      namespaceProblem(name, below(at, "selector", "namespaces", index)),
    ),
    ...exclude.flatMap(({ namespace, name }, index) => [
      ...problemIf(
        !isSubdomain(name),
        below(at, "exclude", index, "name"),
        `must be the whole name of a ClusterProfile (is ${quoteValue(name)})`,
      ),
      ...(namespace === undefined
        ? []
        : namespaceProblem(namespace, below(at, "exclude", index, "namespace"))),
    ]),
    ...textsOf(placementDecision).flatMap(([field, key]) =>
      labelValue(key, below(at, "placementDecision", field)),
    ),
    ...(ocmPlacement === undefined
      ? []
      : labelValue(ocmPlacement.name, below(at, "ocmPlacement", "name"))),
    ...(spec.overrides ?? []).flatMap((override, index) =>
      labelSelectorProblems(override.selector ?? {}, below("spec", "overrides", index, "selector")),
    ),
    ...(spec.rollout?.stages ?? []).flatMap((stage, index) =>
      labelSelectorProblems(
        stage.selector ?? {},
        below("spec", "rollout", "stages", index, "selector"),
      ),
    ),
  ];
};

function namespaceProblem(name: string, path: string): readonly Problem[] {
  const message = `must be the name of a Namespace (is ${quoteValue(name)})`;
  return problemIf(!isLabelName(name), path, message);
}

/** PlacementDecisions are found by a label with this value, so it has to be a valid one. */
function labelValue(value: string, path: string): readonly Problem[] {
  if (value === "") return [{ path, message: "must not be empty" }];
  return problemAt(path, valueProblem(value));
}

/** Refuses malformed labels and annotations of the components, and those that knfleet sets itself. */
export const templateMetadata: SetCheck = ({ spec }) => {
  const { labels, annotations } = spec.template.metadata ?? {};
  const at = below("spec", "template", "metadata");
  return [
    ...labelProblems(labels, below(at, "labels")),
    ...annotationProblems(annotations, below(at, "annotations")),
    ...Object.entries({ labels, annotations }).flatMap(([field, entries]) =>
      textsOf(entries).flatMap(([key]) => problemAt(below(at, field, key), ownProblem(key, field))),
    ),
  ];
};

/** Why the template cannot have a key of ours. A set would not wait until a spoke has changed hands, and an orphaned component needs its own uid. */
function ownProblem(key: string, field: string): string | undefined {
  if (field === "annotations" && key === keepWhileUsedAnnotation) return undefined;
  if (key === deliveryAnnotation || key === forceOrphanAnnotation) {
    return "is for a single component; annotate the component itself";
  }
  return isOwn(key) ? "is set by knfleet itself" : undefined;
}

const maxPatchBytes = 64 * 1024;
const glob = /^[a-z0-9.*?-]+$/;

/** Refuses overrides with invalid patterns of cluster names, with too large patches, or with a `clusterProfileRef`. */
export const overrides: SetCheck = ({ spec }) =>
  (spec.overrides ?? []).flatMap((override, index) => {
    const at = below("spec", "overrides", index);
    return [...globProblems(override, at), ...patchProblems(override, at)];
  });

function globProblems({ clusters = [] }: SetOverride, path: string): readonly Problem[] {
  return clusters.flatMap((pattern, index) =>
    problemIf(
      !glob.test(pattern),
      below(path, "clusters", index),
      `must be the name of a ClusterProfile, in which * and ? stand for characters (is ${quoteValue(pattern)})`,
    ),
  );
}

function patchProblems({ patch }: SetOverride, path: string): readonly Problem[] {
  const bytes = Buffer.byteLength(JSON.stringify(patch));
  return [
    ...problemIf(
      bytes > maxPatchBytes,
      below(path, "patch"),
      `must not be larger than 64 KiB (is ${bytes} bytes)`,
    ),
    ...problemIf(
      Object.hasOwn(patch, "clusterProfileRef"),
      below(path, "patch", "clusterProfileRef"),
      "is set by the set itself, for each cluster",
    ),
  ];
}

/** Refuses a `clusterProfileRef` in the template. The CRD does not have it, but a CRD that keeps unknown fields may let it in. */
export const templateReference: SetCheck = ({ spec }) =>
  problemIf(
    Object.hasOwn(spec.template.spec ?? {}, "clusterProfileRef"),
    below("spec", "template", "spec", "clusterProfileRef"),
    "is set by the set itself, for each cluster",
  );
