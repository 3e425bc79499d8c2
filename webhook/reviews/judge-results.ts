import type { References } from "../../access/providers/references.ts";
import type { AllowedSource } from "../../access/urls/allowed-source.ts";
import { fleetSetKinds } from "../../api/fleet-set.ts";
import { specRules, specWarnings } from "../rules/component-rules.ts";
import { asViolation, subjectOf, violationsOf, warningsOf } from "../rules/judge.ts";
import type { ComponentFacts, Problem, RenderCheck, Subject } from "../rules/rule.ts";
import {
  candidatesOf,
  problemOfSet,
  type Result,
  resultsOf,
  tooManyResults,
} from "../rules/sets/set-results.ts";
import type { SetFacts, SetSubject } from "../rules/sets/set-rule.ts";
import { countValues, shaper } from "../rules/shape.ts";
import { renderFindings } from "./gather-facts.ts";
import type { Ruling, Violation } from "./review.ts";

export interface ResultSources {
  /** What the controller would say; absent: not known. */
  readonly renderCheck?: RenderCheck;
  /** Who may use which ClusterProfile; absent: every namespace all of them. */
  readonly references?: Pick<References, "policy">;
  /** Where manifests may come from; absent: the controller decides. */
  readonly manifestSources?: readonly AllowedSource[];
}

// As many as one component may have; rendering more of them would keep other reviews waiting.
const maxRenderedValues = 16_384;

/** Judges the specs that a set gives to clusters by the rules for components. */
export type ResultJudge = (
  subject: SetSubject,
  facts: SetFacts,
  limits: ResultLimits,
) => Promise<Ruling>;

export interface ResultLimits {
  readonly signal: AbortSignal;
  /** Ends what only advises. */
  readonly early: AbortSignal | undefined;
}

/** A judge of specs. Only a change of template or overrides is judged: whatever became of a release, a rollout can be paused. */
export function resultJudge(sources: ResultSources): ResultJudge {
  let shapeOf: ReturnType<typeof shaper> | undefined;
  return async (subject, { profiles = [] }, { signal, early }) => {
    if (!subject.changed.content) return { violations: [], warnings: [] };
    // A hub without sets does not wait for the schemas to be compiled.
    shapeOf ??= shaper();
    const { spec, namespace } = subject;
    const all = resultsOf(spec, candidatesOf(spec, profiles, namespace));
    const violations: Found<Violation>[] = [];
    const warnings: Found<Problem>[] = [];
    let left = maxRenderedValues;
    for (const result of all.results) {
      const component = componentOf(subject, result, shapeOf);
      left -= countValues(result.spec);
      const render =
        left < 0 ? undefined : await renderFindings(component, { ...sources, early }, signal);
      const facts = { ...noCluster, ...sources, references: sources.references?.policy, render };
      const found = violationsOf(component, facts, specRules);
      violations.push(...found.map((problem) => ({ problem, result })));
      const warned = warningsOf(component, facts, specWarnings);
      warnings.push(...warned.map((problem) => ({ problem, result })));
    }
    const tooMany = tooManyResults(all).map(asViolation("results", 422));
    const told = problemsOfSet(warnings, spec).map(({ path, message }) => `${path}: ${message}`);
    return {
      violations: [...tooMany, ...problemsOfSet(violations, spec)],
      warnings: left < 0 ? [...told, notRendered] : told,
    };
  };
}

/** A problem of a result. */
interface Found<Kind extends Problem> {
  readonly problem: Kind;
  readonly result: Result;
}

/** The problems at their places in the set, each once. */
function problemsOfSet<Kind extends Problem>(
  found: readonly Found<Kind>[],
  spec: SetSubject["spec"],
): readonly Kind[] {
  const problems = new Map<string, Kind>();
  for (const { problem, result } of found) {
    const ofSet = problemOfSet(problem, result, spec);
    // Results with more overrides have the same problem.
    const key = JSON.stringify([ofSet?.path, problem.message]);
    if (ofSet === undefined || problems.has(key)) continue;
    problems.set(key, { ...problem, ...ofSet });
  }
  return [...problems.values()];
}

/** What the rules for specs ask for besides the render. */
const noCluster = {
  mayUse: true,
  mayApply: undefined,
  strongParts: [],
  profile: undefined,
  components: [],
  providers: undefined,
  pluginProblem: undefined,
  manifestSources: undefined,
} as const satisfies Partial<ComponentFacts>;

/** A component of a set, as one of the clusters gets it. */
function componentOf(
  { kind, namespace, name, username }: SetSubject,
  { spec }: Result,
  shapeOf: ReturnType<typeof shaper>,
): Subject {
  const clusterProfileRef = { namespace, name: "cluster" };
  const component = {
    kind: fleetSetKinds[kind].component,
    namespace,
    name,
    username,
    spec: { ...spec, clusterProfileRef },
    before: undefined,
  };
  return subjectOf(component, shapeOf, undefined);
}

const notRendered =
  "spec.overrides: give too many values to be held against the release now; that happens for each component before it is written";
