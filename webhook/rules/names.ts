import { isRecord, listAt, recordAt, textsOf } from "../../api/fields.ts";
import {
  below,
  elementsOf,
  type Fields,
  type Problem,
  problemAt,
  problemIf,
  quoteValue,
} from "./rule.ts";

const label = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const subdomain = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;
const keyName = /^[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?$/;

/** True for a name that most objects may have: RFC 1123, at most 253 characters. The length is checked before the pattern, because of F9. */
export function isSubdomain(text: string): boolean {
  return text.length <= 253 && subdomain.test(text);
}

/** True for a name that a Namespace may have: RFC 1123, at most 63 characters. */
export function isLabelName(text: string): boolean {
  return text.length <= 63 && label.test(text);
}

/** What is wrong with the keys and values of labels. */
export function labelProblems(labels: unknown, path: string): readonly Problem[] {
  return textsOf(labels).flatMap(([key, value]) =>
    problemAt(below(path, key), keyProblem(key) ?? valueProblem(value)),
  );
}

/** What is wrong with the keys of annotations, and with their size. */
export function annotationProblems(annotations: unknown, path: string): readonly Problem[] {
  const entries = textsOf(annotations);
  const size = entries.reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  );
  return [
    ...entries.flatMap(([key]) => problemAt(below(path, key), keyProblem(key))),
    ...problemIf(size > 256 * 1024, path, "must not hold more than 256 KiB altogether"),
  ];
}

/** Why a text is no key of a label or annotation, such as `example.com/name`. */
export function keyProblem(key: string): string | undefined {
  const slash = key.indexOf("/");
  const prefix = slash < 0 ? undefined : key.slice(0, slash);
  const name = key.slice(slash + 1);
  if (prefix !== undefined && !isSubdomain(prefix)) {
    return "the part of the key before the slash must be a DNS name of at most 253 characters";
  }
  if (name.length > 63 || !keyName.test(name)) {
    return "the name of the key must be at most 63 letters, digits, '-', '_' and '.', and begin and end with a letter or digit";
  }
  return undefined;
}

/** Why a text is no value of a label. */
export function valueProblem(value: string): string | undefined {
  if (value === "" || (value.length <= 63 && keyName.test(value))) return undefined;
  return `the value must be at most 63 letters, digits, '-', '_' and '.', and begin and end with a letter or digit (is ${quoteValue(value)})`;
}

/** Why a word is none of those that Kubernetes knows; undefined when it is one, or absent. */
export function oneOf(words: readonly string[], word: unknown): string | undefined {
  if (typeof word !== "string" || words.includes(word)) return undefined;
  return `must be one of ${words.join(", ")} (is ${quoteValue(word)})`;
}

const labelOperators = ["In", "NotIn", "Exists", "DoesNotExist"];
const nodeOperators = [...labelOperators, "Gt", "Lt"];

/** What is wrong with the label selectors of a term or constraint, and with the keys that go with `labelSelector`. */
export function selectorProblems(entry: Fields, path: string): readonly Problem[] {
  const hasSelector = isRecord(entry["labelSelector"]);
  return [
    ...["labelSelector", "namespaceSelector"].flatMap((field) =>
      labelSelectorProblems(recordAt(entry, field), below(path, field)),
    ),
    ...["matchLabelKeys", "mismatchLabelKeys"].flatMap((field): readonly Problem[] => {
      const keys = listAt(entry, field);
      if (keys.length > 0 && !hasSelector) {
        return [{ path: below(path, field), message: "needs a labelSelector" }];
      }
      return keys.flatMap((key, index) =>
        problemAt(below(path, field, index), typeof key === "string" ? keyProblem(key) : undefined),
      );
    }),
  ];
}

/** What is wrong with a label selector that an API server would refuse. */
export function labelSelectorProblems(selector: Fields, path: string): readonly Problem[] {
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
  const expressions = elementsOf(term["matchExpressions"], below(path, "matchExpressions"));
  const fields = elementsOf(term["matchFields"], below(path, "matchFields"));
  return [
    ...expressions.flatMap(([entry, where]) => requirementProblems(entry, where, nodeOperators)),
    ...fields.flatMap(([{ key, operator, values }, where]): readonly Problem[] => {
      if (key !== "metadata.name") {
        const message = `must be metadata.name, the only field of a node (is ${quoteValue(key)})`;
        return [{ path: below(where, "key"), message }];
      }
      const isOne = (operator === "In" || operator === "NotIn") && textsIn(values).length === 1;
      return problemIf(!isOne, where, "must be In or NotIn with one value");
    }),
  ];
}

function requirementProblems(
  { key, operator, values }: Fields,
  path: string,
  operators: readonly string[],
): readonly Problem[] {
  const texts = textsIn(values);
  return [
    ...problemAt(below(path, "key"), typeof key === "string" ? keyProblem(key) : undefined),
    ...problemAt(below(path, "operator"), oneOf(operators, operator)),
    ...problemAt(below(path, "values"), valuesProblem(operator, texts.length)),
    ...texts.flatMap((value, index) =>
      problemAt(below(path, "values", index), valueProblem(value)),
    ),
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
