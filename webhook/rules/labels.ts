import { annotationProblems, labelProblems, textsOf } from "./names.ts";
import { below, type Check, entriesOf, type Problem, recordFields, shown } from "./rule.ts";

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
