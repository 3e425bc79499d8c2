import { isRecord, recordAt } from "../../api/fields.ts";
import { isSubdomain, keyProblem, oneOf } from "./names.ts";
import {
  below,
  type Check,
  elementsOf,
  type Fields,
  type Problem,
  problemAt,
  problemIf,
  quoteValue,
  workloadsOf,
} from "./rule.ts";

/** A variable has a valid name and one valid source. */
export const variables: Check = ({ spec }) =>
  workloadsOf(spec).flatMap(([workload, path]) =>
    elementsOf(workload["env"], below(path, "env")).flatMap(([entry, where]) =>
      elementsOf(entry["envVars"], below(where, "envVars")).flatMap(([variable, at]) =>
        variableProblems(variable, at),
      ),
    ),
  );

function variableProblems(variable: Fields, path: string): readonly Problem[] {
  const { name, value, valueFrom } = variable;
  // oxlint-disable-next-line no-control-regex -- what no variable may be called
  const isWrong = typeof name === "string" && (name === "" || /[=\u0000-\u001f\u007f]/.test(name));
  const message = `must be a name without '=' and control characters (is ${quoteValue(name)})`;
  const problems = problemIf(isWrong, below(path, "name"), message);
  if (!isRecord(valueFrom)) return problems;
  return [
    ...problems,
    ...problemIf(
      typeof value === "string" && value !== "",
      path,
      "value and valueFrom exclude each other; leave one of them out",
    ),
    ...sourceProblems(valueFrom, below(path, "valueFrom")),
  ];
}

function sourceProblems(valueFrom: Fields, path: string): readonly Problem[] {
  const sources = Object.keys(valueFrom).filter((source) => isRecord(valueFrom[source]));
  const [source = ""] = sources;
  if (source === "") {
    return [{ path, message: `needs a source: ${Object.keys(checks).join(", ")}` }];
  }
  if (sources.length > 1) {
    const message = `takes one source, not ${sources.length}: ${sources.map(quoteValue).slice(0, 4).join(", ")}`;
    return [{ path, message }];
  }
  const found = checks[source]?.(recordAt(valueFrom, source)) ?? {};
  return Object.entries(found).flatMap(([field, message]) =>
    problemAt(below(path, source, field), message),
  );
}

type Found = Readonly<Record<string, string | undefined>>;

const checks: Readonly<Record<string, (source: Fields) => Found>> = {
  fieldRef: ({ apiVersion = "", fieldPath }) => ({
    apiVersion: apiVersion === "" ? undefined : oneOf(["v1"], apiVersion),
    fieldPath: typeof fieldPath === "string" ? fieldPathProblem(fieldPath) : undefined,
  }),
  resourceFieldRef: ({ resource, divisor }) => ({
    resource: typeof resource === "string" ? resourceProblem(resource) : undefined,
    divisor: typeof resource === "string" ? divisorProblem(resource, divisor) : undefined,
  }),
  configMapKeyRef: keyReference("ConfigMap"),
  secretKeyRef: keyReference("Secret"),
  fileKeyRef: ({ path }) => ({
    path: typeof path === "string" ? filePathProblem(path) : undefined,
  }),
};

function keyReference(kind: string): (source: Fields) => Found {
  return ({ name = "", key }) => ({
    name:
      typeof name !== "string" || isSubdomain(name)
        ? undefined
        : `must be the name of a ${kind} (is ${quoteValue(name)})`,
    key:
      typeof key !== "string" || (key.length <= 253 && /^[-._a-zA-Z0-9]+$/.test(key))
        ? undefined
        : `must be a key of letters, digits, '-', '_' and '.' (is ${quoteValue(key)})`,
  });
}

const fieldPaths = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];

function fieldPathProblem(path: string): string | undefined {
  const [, key] = /^metadata\.(?:labels|annotations)\['([^']{0,320})'\]$/.exec(path) ?? [];
  if (key !== undefined) return keyProblem(key);
  return oneOf([...fieldPaths, "metadata.labels['KEY']", "metadata.annotations['KEY']"], path);
}

function resourceProblem(resource: string): string | undefined {
  const isKnown =
    /^(?:limits|requests)\.(?:cpu|memory|ephemeral-storage|hugepages-[\w.-]{1,64})$/.test(resource);
  if (isKnown) return undefined;
  return `must be limits. or requests. and cpu, memory, ephemeral-storage or hugepages-SIZE (is ${quoteValue(resource)})`;
}

const cpuDivisors = ["1m", "1"];
const units = ["", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const byteDivisors = units.map((unit) => `1${unit}`);

function divisorProblem(resource: string, divisor: unknown): string | undefined {
  const text = typeof divisor === "number" ? `${divisor}` : divisor;
  if (text === "0") return undefined;
  return oneOf(resource.endsWith(".cpu") ? cpuDivisors : byteDivisors, text);
}

function filePathProblem(path: string): string | undefined {
  const isInside = path !== "" && !path.startsWith("/") && !path.split("/").includes("..");
  return isInside ? undefined : `must be a path below the volume (is ${quoteValue(path)})`;
}
