import { recordAt } from "../../api/fields.ts";
import { anchorNameOf } from "../../installation/anchor.ts";
import { annotationProblems, labelProblems, textsOf } from "./names.ts";
import {
  type Check,
  below,
  entriesOf,
  type Problem,
  recordFields,
  shown,
  type Fields,
} from "./rule.ts";

const maxName = 253;

/** The name of the anchor holds the name of the component. Security: T-60. */
export const componentName: Check = ({ kind, name }) => {
  const room = maxName - anchorNameOf({ kind, name: "" }).length;
  if (name.length <= room) return [];
  const message = `must be at most ${room} characters (has ${name.length}), because the name of its anchor is ${anchorNameOf({ kind, name: "NAME" })}`;
  return [{ path: "metadata.name", message }];
};

/** Labels, selectors and annotations that the target cluster would refuse. */
export const labels: Check = ({ spec }) =>
  ["workloads", "deployments", "services"].flatMap((field) =>
    entriesOf(spec, field).flatMap(([entry, path]): readonly Problem[] => [
      ...labelProblems(entry["labels"], below(path, "labels")),
      ...(field === "services"
        ? labelProblems(entry["selector"], below(path, "selector"))
        : labelProblems(entry["nodeSelector"], below(path, "nodeSelector"))),
      ...annotationProblems(entry["annotations"], below(path, "annotations")),
    ]),
  );

const dataKey = /^[-._A-Za-z0-9]+$/;

/** Keys that a ConfigMap cannot have. */
export const configKeys: Check = ({ spec }) =>
  Object.entries(recordFields(spec["config"])).flatMap(([name, data]) =>
    textsOf(data).flatMap(([key]) =>
      key.length <= 253 && dataKey.test(key) && key !== "." && !key.startsWith("..")
        ? []
        : [
            {
              path: below("spec", "config", name, key),
              message: `the key must be at most 253 letters, digits, '-', '_' and '.' (is ${shown(key)})`,
            },
          ],
    ),
  );

/** The two names of the settings; the first one wins. */
const fields = ["namespace", "namespaceConfiguration"] as const;
const levels = ["privileged", "baseline", "restricted"];
const podSecurity = "pod-security.kubernetes.io/";
const ownPrefixes = ["operator.knative.dev/", "knfleet.dev/"];

/** Labels and annotations of the Namespace: well-formed, and none that switches protection off. Security: T-61. */
export const namespaceSettings: Check = ({ spec, before }) =>
  fields.flatMap((field) => {
    const settings = recordAt(spec, field);
    const old = recordAt(before, field);
    const labelsPath = below("spec", field, "labels");
    const annotationsPath = below("spec", field, "annotations");
    return [
      ...labelProblems(settings["labels"], labelsPath),
      ...annotationProblems(settings["annotations"], annotationsPath),
      ...textsOf(settings["labels"]).flatMap(([key, value]) =>
        reserved(key, value, recordAt(old, "labels")).map((message) => ({
          path: below(labelsPath, key),
          message,
        })),
      ),
      ...textsOf(settings["annotations"])
        .filter(([key]) => isOwn(key))
        .map(([key]) => ({
          path: below(annotationsPath, key),
          message: "is set by knfleet itself",
        })),
    ];
  });

/** A key that both settings hold with different values. */
export const namespaceTwice: Check = ({ spec }) =>
  (["labels", "annotations"] as const).flatMap((part): readonly Problem[] => {
    const first = recordAt(spec, fields[0], part);
    return textsOf(recordAt(spec, fields[1], part)).flatMap(([key, value]) =>
      Object.hasOwn(first, key) && first[key] !== value
        ? [
            {
              path: below("spec", fields[1], part, key),
              message: `spec.${fields[0]} sets the key, too, and wins`,
            },
          ]
        : [],
    );
  });

function reserved(key: string, value: string, old: Fields): readonly string[] {
  if (key === "kubernetes.io/metadata.name") return ["is set by the API server itself"];
  if (key === "app.kubernetes.io/managed-by" || isOwn(key)) return ["is set by knfleet itself"];
  if (!key.startsWith(podSecurity)) return [];
  if (key.endsWith("-version")) {
    const isVersion = value === "latest" || /^v1\.\d{1,4}$/.test(value);
    return isVersion ? [] : [`must be latest or a version such as v1.36 (is ${shown(value)})`];
  }
  const [now, was] = [levels.indexOf(value), levels.indexOf(String(old[key]))];
  if (now < 0) return [`must be baseline or restricted (is ${shown(value)})`];
  if (now > 0 && now >= was) return [];
  return [`must not relax the rules for pods; label the Namespace itself where this is needed`];
}

function isOwn(key: string): boolean {
  return ownPrefixes.some((prefix) => key.startsWith(prefix));
}
