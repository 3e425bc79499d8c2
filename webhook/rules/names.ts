import { isRecord } from "../../api/fields.ts";
import { type Problem, below, shown } from "./rule.ts";

const label = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const subdomain = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;
const keyName = /^[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?$/;

/** True for a name as most objects have one: RFC 1123, at most 253 characters. Length before pattern, because of F9. */
export function isSubdomain(text: string): boolean {
  return text.length <= 253 && subdomain.test(text);
}

/** True for a name as a Namespace has one: RFC 1123, at most 63 characters. */
export function isLabelName(text: string): boolean {
  return text.length <= 63 && label.test(text);
}

/** What is wrong with the keys and values of labels. */
export function labelProblems(labels: unknown, path: string): readonly Problem[] {
  return textsOf(labels).flatMap(([key, value]) => {
    const problem = keyProblem(key) ?? valueProblem(value);
    return problem === undefined ? [] : [{ path: below(path, key), message: problem }];
  });
}

/** What is wrong with the keys of annotations, and with their size. */
export function annotationProblems(annotations: unknown, path: string): readonly Problem[] {
  const entries = textsOf(annotations);
  const wrong = entries.flatMap(([key]) => {
    const problem = keyProblem(key);
    return problem === undefined ? [] : [{ path: below(path, key), message: problem }];
  });
  const size = entries.reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  );
  const message = "must not hold more than 256 KiB altogether";
  return size > 256 * 1024 ? [...wrong, { path, message }] : wrong;
}

/** The entries of a map whose values are texts. */
export function textsOf(map: unknown): readonly (readonly [string, string])[] {
  if (!isRecord(map)) return [];
  return Object.entries(map).flatMap(([key, value]) =>
    typeof value === "string" ? [[key, value] as const] : [],
  );
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
  return `the value must be at most 63 letters, digits, '-', '_' and '.', and begin and end with a letter or digit (is ${shown(value)})`;
}
