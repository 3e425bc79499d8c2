import {
  below,
  type Check,
  elementsOf,
  entriesOf,
  type Fields,
  type Problem,
  workloadsOf,
} from "./rule.ts";

/** Fields that work and have a better name. */
export const deprecated: Check = ({ spec }) =>
  [
    ["deployments", "deprecated: use spec.workloads, which takes the same entries"],
    ["resources", "deprecated: use spec.workloads[].resources"],
  ].flatMap(([field = "", message = ""]) =>
    Array.isArray(spec[field]) && spec[field].length > 0
      ? [{ path: below("spec", field), message }]
      : [],
  );

const ineffective: Readonly<Record<string, readonly string[]>> = {
  workloads: ["version", "volumeMounts"],
  deployments: ["version", "volumeMounts"],
  podDisruptionBudgets: ["selector", "unhealthyPodEvictionPolicy"],
};

/** Fields that are accepted and do nothing (knative-operator.md 1.1, 1.2). */
export const withoutEffect: Check = ({ spec }) => [
  ...Object.entries(ineffective).flatMap(([list, fields]) =>
    entriesOf(spec, list).flatMap(([entry, path]): readonly Problem[] =>
      fields.flatMap((field) => (entry[field] === undefined ? [] : [ignored(below(path, field))])),
    ),
  ),
  ...entriesOf(spec, "resources").flatMap(claims),
  ...workloadsOf(spec).flatMap(([entry, path]) =>
    elementsOf(entry["resources"], below(path, "resources")).flatMap(claims),
  ),
];

function claims([entry, path]: readonly [Fields, string]): readonly Problem[] {
  return entry["claims"] === undefined ? [] : [ignored(below(path, "claims"))];
}

function ignored(path: string): Problem {
  return { path, message: "has no effect; leave it out" };
}
