import { listAt, recordAt } from "../../api/fields.ts";
import {
  isLabelName,
  keyProblem,
  nodeTermProblems,
  oneOf,
  selectorProblems,
  valueProblem,
} from "./names.ts";
import {
  below,
  type Check,
  elementsOf,
  type Entry,
  type Fields,
  type Problem,
  problemAt,
  problemIf,
  quoteValue,
  workloadsOf,
} from "./rule.ts";

/** Placement of pods that no cluster would take. Kubernetes would refuse the whole workload, long after the component was stored. */
export const placement: Check = ({ spec }) =>
  workloadsOf(spec).flatMap(([entry, path]) => [
    ...elementsOf(entry["tolerations"], below(path, "tolerations")).flatMap(tolerationProblems),
    ...affinityProblems(recordAt(entry, "affinity"), below(path, "affinity")),
    ...spreadProblems(entry["topologySpreadConstraints"], below(path, "topologySpreadConstraints")),
  ]);

const tolerationOperators = ["Equal", "Exists", "Lt", "Gt"];
const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

function tolerationProblems([entry, path]: Entry): readonly Problem[] {
  const { key = "", effect = "", operator = "", tolerationSeconds, value } = entry;
  const isKey = typeof key === "string" && key !== "";
  return [
    ...problemAt(below(path, "key"), isKey ? keyProblem(key) : undefined),
    ...problemIf(
      key === "" && operator !== "Exists",
      below(path, "operator"),
      "must be Exists where there is no key",
    ),
    ...problemAt(
      below(path, "operator"),
      operator === "" ? undefined : oneOf(tolerationOperators, operator),
    ),
    ...problemAt(below(path, "value"), tolerationValueProblem(operator, value)),
    ...problemAt(below(path, "effect"), effect === "" ? undefined : oneOf(effects, effect)),
    ...problemIf(
      typeof tolerationSeconds === "number" && effect !== "NoExecute",
      below(path, "tolerationSeconds"),
      "needs the effect NoExecute",
    ),
  ];
}

function tolerationValueProblem(operator: unknown, value: unknown): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  if (operator === "Exists") return "must be empty where the operator is Exists";
  if (operator !== "Lt" && operator !== "Gt") return valueProblem(value);
  return /^-?\d{1,19}$/.test(value)
    ? undefined
    : `must be a whole number (is ${quoteValue(value)})`;
}

const honouring = ["Honor", "Ignore"];
const reactions = ["DoNotSchedule", "ScheduleAnyway"];

function spreadProblems(list: unknown, path: string): readonly Problem[] {
  const seen = new Set<string>();
  return elementsOf(list, path).flatMap(([entry, where]) => {
    const { topologyKey, whenUnsatisfiable } = entry;
    const id = JSON.stringify([topologyKey, whenUnsatisfiable]);
    const isTwice = seen.has(id);
    seen.add(id);
    const message = "the same topologyKey and whenUnsatisfiable stand further up already";
    return [...problemIf(isTwice, where, message), ...constraintProblems(entry, where)];
  });
}

function constraintProblems(entry: Fields, path: string): readonly Problem[] {
  const { maxSkew, minDomains, topologyKey, whenUnsatisfiable } = entry;
  return [
    ...problemIf(isBelowOne(maxSkew), below(path, "maxSkew"), "must be at least 1"),
    ...topologyKeyProblems(topologyKey, path),
    ...problemAt(below(path, "whenUnsatisfiable"), oneOf(reactions, whenUnsatisfiable)),
    ...problemIf(isBelowOne(minDomains), below(path, "minDomains"), "must be at least 1"),
    ...problemIf(
      typeof minDomains === "number" && whenUnsatisfiable === "ScheduleAnyway",
      below(path, "minDomains"),
      "needs whenUnsatisfiable DoNotSchedule",
    ),
    ...["nodeAffinityPolicy", "nodeTaintsPolicy"].flatMap((field) =>
      problemAt(below(path, field), oneOf(honouring, entry[field])),
    ),
    ...selectorProblems(entry, path),
  ];
}

function topologyKeyProblems(key: unknown, path: string): readonly Problem[] {
  return problemAt(
    below(path, "topologyKey"),
    typeof key === "string" ? keyProblem(key) : undefined,
  );
}

function isBelowOne(value: unknown): boolean {
  return typeof value === "number" && value < 1;
}

const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";

function affinityProblems(affinity: Fields, path: string): readonly Problem[] {
  return [
    ...nodeProblems(recordAt(affinity, "nodeAffinity"), below(path, "nodeAffinity")),
    ...["podAffinity", "podAntiAffinity"].flatMap((field) =>
      podProblems(recordAt(affinity, field), below(path, field)),
    ),
  ];
}

function nodeProblems(affinity: Fields, path: string): readonly Problem[] {
  const where = below(path, required, "nodeSelectorTerms");
  const terms = recordAt(affinity, required)["nodeSelectorTerms"];
  return [
    ...problemIf(Array.isArray(terms) && terms.length === 0, where, "must hold a term"),
    ...elementsOf(terms, where).flatMap(([term, at]) => nodeTermProblems(term, at)),
    ...elementsOf(affinity[preferred], below(path, preferred)).flatMap(([entry, at]) => [
      ...weightProblems(entry, at),
      ...nodeTermProblems(recordAt(entry, "preference"), below(at, "preference")),
    ]),
  ];
}

function podProblems(affinity: Fields, path: string): readonly Problem[] {
  return [
    ...elementsOf(affinity[required], below(path, required)).flatMap(([term, at]) =>
      podTermProblems(term, at),
    ),
    ...elementsOf(affinity[preferred], below(path, preferred)).flatMap(([entry, at]) => [
      ...weightProblems(entry, at),
      ...podTermProblems(recordAt(entry, "podAffinityTerm"), below(at, "podAffinityTerm")),
    ]),
  ];
}

function podTermProblems(term: Fields, path: string): readonly Problem[] {
  return [
    ...topologyKeyProblems(term["topologyKey"], path),
    ...listAt(term, "namespaces").flatMap((name, index) =>
      problemIf(
        typeof name === "string" && !isLabelName(name),
        below(path, "namespaces", index),
        `must be the name of a Namespace (is ${quoteValue(name)})`,
      ),
    ),
    ...selectorProblems(term, path),
  ];
}

function weightProblems({ weight }: Fields, path: string): readonly Problem[] {
  const isWrong = typeof weight === "number" && !(weight >= 1 && weight <= 100);
  return problemIf(isWrong, below(path, "weight"), `must be from 1 to 100 (is ${String(weight)})`);
}
