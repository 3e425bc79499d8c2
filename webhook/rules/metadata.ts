import { recordAt, textsOf } from "../../api/fields.ts";
import { setAnnotations, setLabels } from "../../api/fleet-set.ts";
import { anchorNameOf } from "../../installation/anchor.ts";
import { annotationProblems, labelProblems } from "./names.ts";
import {
  below,
  type Check,
  entriesOf,
  type Fields,
  type Problem,
  problemAt,
  problemIf,
  quoteValue,
} from "./rule.ts";

const maxName = 253;

/** The name of the anchor holds the name of the component. Security: T-60. */
export const componentName: Check = ({ kind, name }) => {
  const room = maxName - anchorNameOf({ kind, name: "" }).length;
  const why = `because the name of its anchor is ${anchorNameOf({ kind, name: "NAME" })}`;
  const message = `must be at most ${room} characters (has ${name.length}), ${why}`;
  return problemIf(name.length > room, "metadata.name", message);
};

/** A copy of a component of a fleet set still has the marks of the set, which name the component that was copied. */
export const setCopy: Check = ({ metadata = {}, name }) => {
  const marked = recordAt(metadata, "annotations")[setAnnotations.component];
  return problemIf(
    marked !== undefined && marked !== name,
    below("metadata", "annotations", setAnnotations.component),
    `is the mark of a fleet set on another component (is ${quoteValue(marked)}); leave the labels and annotations knfleet.dev/set… out of a copy`,
  );
};

/** Labels of a fleet set that no set has written: they have no effect. */
export const setLabelsWithoutSet: Check = ({ metadata = {} }) =>
  problemIf(
    recordAt(metadata, "labels")[setLabels.set] !== undefined &&
      recordAt(metadata, "annotations")[setAnnotations.component] === undefined,
    below("metadata", "labels", setLabels.set),
    "is written by fleet sets; the component does not belong to the set because of it",
  );

/** Labels, selectors and annotations that the target cluster would refuse. */
export const labels: Check = ({ spec }) =>
  ["workloads", "deployments", "services"].flatMap((field) => {
    const selector = field === "services" ? "selector" : "nodeSelector";
    return entriesOf(spec, field).flatMap(([entry, path]): readonly Problem[] => [
      ...labelProblems(entry["labels"], below(path, "labels")),
      ...labelProblems(entry[selector], below(path, selector)),
      ...annotationProblems(entry["annotations"], below(path, "annotations")),
    ]);
  });

const dataKey = /^[-._A-Za-z0-9]+$/;

/** Keys that a ConfigMap cannot have. */
export const configKeys: Check = ({ spec }) =>
  Object.entries(recordAt(spec, "config")).flatMap(([name, data]) =>
    textsOf(data).flatMap(([key]) => {
      const isKey = key.length <= 253 && dataKey.test(key) && key !== "." && !key.startsWith("..");
      const message = `the key must be at most 253 letters, digits, '-', '_' and '.' (is ${quoteValue(key)})`;
      return problemIf(!isKey, below("spec", "config", name, key), message);
    }),
  );

/** The two names of the settings of the Namespace; the first one wins. */
export const namespaceFields = ["namespace", "namespaceConfiguration"] as const;
const levels = ["privileged", "baseline", "restricted"];
const podSecurity = "pod-security.kubernetes.io/";
const ownPrefixes = ["operator.knative.dev/", "knfleet.dev/"];

/** Labels and annotations of the Namespace: well-formed, and none that switches protection off. Security: T-61. */
export const namespaceSettings: Check = ({ spec, before }) =>
  namespaceFields.flatMap((field) => {
    const settings = recordAt(spec, field);
    const oldLabels = recordAt(before, field, "labels");
    const labelsPath = below("spec", field, "labels");
    const annotationsPath = below("spec", field, "annotations");
    return [
      ...labelProblems(settings["labels"], labelsPath),
      ...annotationProblems(settings["annotations"], annotationsPath),
      ...textsOf(settings["labels"]).flatMap(([key, value]) =>
        problemAt(below(labelsPath, key), reservedProblem(key, value, oldLabels)),
      ),
      ...textsOf(settings["annotations"]).flatMap(([key]) =>
        problemIf(isOwn(key), below(annotationsPath, key), "is set by knfleet itself"),
      ),
    ];
  });

/** A key has different values in the two settings. */
export const namespaceTwice: Check = ({ spec }) =>
  ["labels", "annotations"].flatMap((part) => {
    const first = recordAt(spec, namespaceFields[0], part);
    return textsOf(recordAt(spec, namespaceFields[1], part)).flatMap(([key, value]) =>
      problemIf(
        Object.hasOwn(first, key) && first[key] !== value,
        below("spec", namespaceFields[1], part, key),
        `spec.${namespaceFields[0]} sets the key, too, and wins`,
      ),
    );
  });

function reservedProblem(key: string, value: string, oldLabels: Fields): string | undefined {
  if (key === "kubernetes.io/metadata.name") return "is set by the API server itself";
  if (key === "app.kubernetes.io/managed-by" || isOwn(key)) return "is set by knfleet itself";
  if (!key.startsWith(podSecurity)) return undefined;
  if (key.endsWith("-version")) {
    const isVersion = value === "latest" || /^v1\.\d{1,4}$/.test(value);
    return isVersion
      ? undefined
      : `must be latest or a version such as v1.36 (is ${quoteValue(value)})`;
  }
  const [now, was] = [levels.indexOf(value), levels.indexOf(String(oldLabels[key]))];
  if (now < 0) return `must be baseline or restricted (is ${quoteValue(value)})`;
  if (now > 0 && now >= was) return undefined;
  return `must not relax the rules for pods; label the Namespace itself where this is needed`;
}

/** Whether a key of a label or annotation is one that only knfleet sets. */
export function isOwn(key: string): boolean {
  return ownPrefixes.some((prefix) => key.startsWith(prefix));
}
