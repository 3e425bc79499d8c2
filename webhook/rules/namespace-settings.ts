import { recordAt } from "../../api/fields.ts";
import { annotationProblems, labelProblems, textsOf } from "./names.ts";
import { below, type Check, type Fields, type Problem, shown } from "./rule.ts";

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
    const labels = below("spec", field, "labels");
    const annotations = below("spec", field, "annotations");
    return [
      ...labelProblems(settings["labels"], labels),
      ...annotationProblems(settings["annotations"], annotations),
      ...textsOf(settings["labels"]).flatMap(([key, value]) =>
        reserved(key, value, recordAt(old, "labels")).map((message) => ({
          path: below(labels, key),
          message,
        })),
      ),
      ...textsOf(settings["annotations"])
        .filter(([key]) => isOwn(key))
        .map(([key]) => ({ path: below(annotations, key), message: "is set by knfleet itself" })),
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
