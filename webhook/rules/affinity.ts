import { isRecord, recordAt } from "../../api/fields.ts";
import { isLabelName, keyProblem } from "./names.ts";
import { below, elementsOf, type Fields, type Problem, recordFields, shown } from "./rule.ts";
import { nodeTermProblems, selectorProblems } from "./selectors.ts";

const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";

/** What no cluster would take about the affinity of pods to nodes and to other pods. */
export function affinityProblems(affinity: unknown, path: string): readonly Problem[] {
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
