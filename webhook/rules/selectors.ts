import { isRecord } from "../../api/fields.ts";
import { keyProblem, labelProblems, valueProblem } from "./names.ts";
import { below, elementsOf, type Fields, type Problem, recordFields, shown } from "./rule.ts";

/** Why a word is none of those that Kubernetes knows; undefined when it is one, or absent. */
export function oneOf(words: readonly string[], word: unknown): string | undefined {
  if (typeof word !== "string" || words.includes(word)) return undefined;
  return `must be one of ${words.join(", ")} (is ${shown(word)})`;
}

const labelOperators = ["In", "NotIn", "Exists", "DoesNotExist"];
const nodeOperators = [...labelOperators, "Gt", "Lt"];

/** What is wrong with the label selectors of a term or constraint, and with the keys that go with `labelSelector`. */
export function selectorProblems(entry: Fields, path: string): readonly Problem[] {
  const hasSelector = isRecord(entry["labelSelector"]);
  return [
    ...["labelSelector", "namespaceSelector"].flatMap((field) =>
      labelSelectorProblems(recordFields(entry[field]), below(path, field)),
    ),
    ...["matchLabelKeys", "mismatchLabelKeys"].flatMap((field): readonly Problem[] => {
      const list = entry[field];
      const keys: readonly unknown[] = Array.isArray(list) ? list : [];
      if (keys.length > 0 && !hasSelector) {
        return [{ path: below(path, field), message: "needs a labelSelector" }];
      }
      return keys.flatMap((key, index) => {
        const message = typeof key === "string" ? keyProblem(key) : undefined;
        return message === undefined ? [] : [{ path: below(path, field, index), message }];
      });
    }),
  ];
}

function labelSelectorProblems(selector: Fields, path: string): readonly Problem[] {
  const expressions = below(path, "matchExpressions");
  return [
    ...labelProblems(selector["matchLabels"], below(path, "matchLabels")),
    ...elementsOf(selector["matchExpressions"], expressions).flatMap(([entry, where]) =>
      requirementProblems(entry, where, labelOperators),
    ),
  ];
}

/** What is wrong with one term of a node selector. */
export function nodeTermProblems(term: Fields, path: string): readonly Problem[] {
  return [
    ...elementsOf(term["matchExpressions"], below(path, "matchExpressions")).flatMap(
      ([entry, where]) => requirementProblems(entry, where, nodeOperators),
    ),
    ...elementsOf(term["matchFields"], below(path, "matchFields")).flatMap(
      ([entry, where]): readonly Problem[] => {
        const { key, operator, values } = entry;
        if (key !== "metadata.name") {
          const message = `must be metadata.name, the only field of a node (is ${shown(key)})`;
          return [{ path: below(where, "key"), message }];
        }
        const isOne = (operator === "In" || operator === "NotIn") && textsIn(values).length === 1;
        return isOne ? [] : [{ path: where, message: "must be In or NotIn with one value" }];
      },
    ),
  ];
}

function requirementProblems(
  { key, operator, values }: Fields,
  path: string,
  operators: readonly string[],
): readonly Problem[] {
  const found: readonly (readonly [string, string | undefined])[] = [
    ["key", typeof key === "string" ? keyProblem(key) : undefined],
    ["operator", oneOf(operators, operator)],
    ["values", valuesProblem(operator, textsIn(values).length)],
  ];
  return [
    ...found.flatMap(([field, message]) =>
      message === undefined ? [] : [{ path: below(path, field), message }],
    ),
    ...textsIn(values).flatMap((value, index) => {
      const message = valueProblem(value);
      return message === undefined ? [] : [{ path: below(path, "values", index), message }];
    }),
  ];
}

function valuesProblem(operator: unknown, count: number): string | undefined {
  switch (operator) {
    case "In":
    case "NotIn":
      return count > 0 ? undefined : `must not be empty where the operator is ${operator}`;
    case "Exists":
    case "DoesNotExist":
      return count === 0 ? undefined : `must be empty where the operator is ${operator}`;
    case "Gt":
    case "Lt":
      return count === 1 ? undefined : `must hold one value where the operator is ${operator}`;
    default:
      return undefined;
  }
}

function textsIn(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((one) => typeof one === "string") : [];
}
