import { isRecord, recordAt } from "../../api/fields.ts";
import {
  keyProblem,
  valueProblem,
  isLabelName,
  oneOf,
  selectorProblems,
  nodeTermProblems,
} from "./names.ts";
import {
  below,
  type Check,
  elementsOf,
  type Fields,
  type Problem,
  shown,
  workloadsOf,
  recordFields,
} from "./rule.ts";

/** Where pods may run, as far as no cluster would take it: Kubernetes refuses the whole workload for it, and long after the component was stored. */
export const placement: Check = ({ spec }) =>
  workloadsOf(spec).flatMap(([entry, path]) => [
    ...elementsOf(entry["tolerations"], below(path, "tolerations")).flatMap(tolerationProblems),
    ...affinityProblems(entry["affinity"], below(path, "affinity")),
    ...spreadProblems(entry["topologySpreadConstraints"], below(path, "topologySpreadConstraints")),
  ]);

const tolerationOperators = ["Equal", "Exists", "Lt", "Gt"];
const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

function tolerationProblems([entry, path]: readonly [Fields, string]): readonly Problem[] {
  const { key = "", effect = "", tolerationSeconds } = entry;
  const operator = entry["operator"] ?? "";
  const say = (field: string, message: string | undefined): readonly Problem[] =>
    message === undefined ? [] : [{ path: below(path, field), message }];
  return [
    ...say("key", typeof key === "string" && key !== "" ? keyProblem(key) : undefined),
    ...say(
      "operator",
      key === "" && operator !== "Exists" ? "must be Exists where there is no key" : undefined,
    ),
    ...say("operator", operator === "" ? undefined : oneOf(tolerationOperators, operator)),
    ...say("value", tolerationValueProblem(operator, entry["value"])),
    ...say("effect", effect === "" ? undefined : oneOf(effects, effect)),
    ...say(
      "tolerationSeconds",
      typeof tolerationSeconds === "number" && effect !== "NoExecute"
        ? "needs the effect NoExecute"
        : undefined,
    ),
  ];
}

function tolerationValueProblem(operator: unknown, value: unknown): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  if (operator === "Exists") return "must be empty where the operator is Exists";
  if (operator !== "Lt" && operator !== "Gt") return valueProblem(value);
  return /^-?\d{1,19}$/.test(value) ? undefined : `must be a whole number (is ${shown(value)})`;
}

const honouring = ["Honor", "Ignore"];
const reactions = ["DoNotSchedule", "ScheduleAnyway"];

function spreadProblems(list: unknown, path: string): readonly Problem[] {
  const all = elementsOf(list, path);
  const seen = new Set<string>();
  return all.flatMap(([entry, where]) => {
    const { topologyKey, whenUnsatisfiable } = entry;
    const id = JSON.stringify([topologyKey, whenUnsatisfiable]);
    const isTwice = seen.has(id);
    seen.add(id);
    const message = "the same topologyKey and whenUnsatisfiable stand further up already";
    return [...(isTwice ? [{ path: where, message }] : []), ...constraintProblems(entry, where)];
  });
}

function constraintProblems(entry: Fields, path: string): readonly Problem[] {
  const { maxSkew, minDomains, topologyKey, whenUnsatisfiable } = entry;
  const found: readonly (readonly [string, string | undefined])[] = [
    ["maxSkew", isBelowOne(maxSkew) ? "must be at least 1" : undefined],
    ["topologyKey", typeof topologyKey === "string" ? keyProblem(topologyKey) : undefined],
    ["whenUnsatisfiable", oneOf(reactions, whenUnsatisfiable)],
    ["minDomains", isBelowOne(minDomains) ? "must be at least 1" : undefined],
    [
      "minDomains",
      typeof minDomains === "number" && whenUnsatisfiable === "ScheduleAnyway"
        ? "needs whenUnsatisfiable DoNotSchedule"
        : undefined,
    ],
    ...["nodeAffinityPolicy", "nodeTaintsPolicy"].map(
      (field) => [field, oneOf(honouring, entry[field])] as const,
    ),
  ];
  return [
    ...found.flatMap(([field, message]) =>
      message === undefined ? [] : [{ path: below(path, field), message }],
    ),
    ...selectorProblems(entry, path),
  ];
}

function isBelowOne(value: unknown): boolean {
  return typeof value === "number" && value < 1;
}

const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";

/** What no cluster would take about the affinity of pods to nodes and to other pods. */
function affinityProblems(affinity: unknown, path: string): readonly Problem[] {
  if (!isRecord(affinity)) return [];
  return [
    ...nodeProblems(recordFields(affinity["nodeAffinity"]), below(path, "nodeAffinity")),
    ...["podAffinity", "podAntiAffinity"].flatMap((field) =>
      podProblems(recordFields(affinity[field]), below(path, field)),
    ),
  ];
}

function nodeProblems(affinity: Fields, path: string): readonly Problem[] {
  const terms = affinity[required];
  const where = below(path, required, "nodeSelectorTerms");
  const list = recordFields(terms)["nodeSelectorTerms"];
  const isEmpty = isRecord(terms) && Array.isArray(list) && list.length === 0;
  return [
    ...(isEmpty ? [{ path: where, message: "must hold a term" }] : []),
    ...elementsOf(list, where).flatMap(([term, at]) => nodeTermProblems(term, at)),
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
  const { topologyKey, namespaces } = term;
  const problem = typeof topologyKey === "string" ? keyProblem(topologyKey) : undefined;
  const names: readonly unknown[] = Array.isArray(namespaces) ? namespaces : [];
  return [
    ...(problem === undefined ? [] : [{ path: below(path, "topologyKey"), message: problem }]),
    ...names.flatMap((name, index) => {
      if (typeof name !== "string" || isLabelName(name)) return [];
      const message = `must be the name of a Namespace (is ${shown(name)})`;
      return [{ path: below(path, "namespaces", index), message }];
    }),
    ...selectorProblems(term, path),
  ];
}

function weightProblems({ weight }: Fields, path: string): readonly Problem[] {
  if (typeof weight !== "number" || (weight >= 1 && weight <= 100)) return [];
  return [{ path: below(path, "weight"), message: `must be from 1 to 100 (is ${weight})` }];
}
