import type { Violation } from "../reviews/review.ts";
import { refOf } from "./reference.ts";
import type { Check, ComponentFacts, Fields, Problem, Rule, Subject } from "./rule.ts";
import type { shaper } from "./shape.ts";

type Stated = Omit<Subject, "ref" | "component" | "misshapen">;

/** The component that rules look at. `installed` is `status.version`. */
export function subjectOf(
  stated: Stated,
  shapeOf: ReturnType<typeof shaper>,
  installed: string | undefined,
): Subject {
  const { spec } = stated;
  const place = { ...stated, installed };
  const { component, problems } = shapeOf(spec, place);
  return {
    ...stated,
    ref: refOf(spec),
    component: component ?? shapeOf(soundPart(spec, problems), place).component,
    misshapen: problems,
  };
}

/** The spec without its misshapen fields, so that problems of the version are found too; the whole spec when a field that the version depends on is misshapen. */
function soundPart(spec: Fields, problems: readonly Problem[]): Fields {
  const wrong = new Set(problems.map(({ path }) => /^spec\.([\w-]+)/.exec(path)?.[1] ?? "version"));
  if (wrong.has("version") || wrong.has("manifests")) return spec;
  return Object.fromEntries(Object.entries(spec).filter(([field]) => !wrong.has(field)));
}

/** What the rules of a table find. */
export function violationsOf(
  subject: Subject,
  facts: ComponentFacts,
  rules: Readonly<Record<string, Rule>>,
): readonly Violation[] {
  const violations: Violation[] = [];
  for (const [rule, { code, check }] of Object.entries(rules)) {
    const found = check(subject, facts);
    const news = rule === "rendering" ? found.filter(isNewsTo(violations)) : found;
    violations.push(...news.map(asViolation(rule, code)));
  }
  return violations;
}

/** What the warnings of a table find. */
export function warningsOf(
  subject: Subject,
  facts: ComponentFacts,
  warnings: Readonly<Record<string, Check>>,
): readonly Problem[] {
  const found: Problem[] = [];
  for (const [name, check] of Object.entries(warnings)) {
    const paths = new Set(found.map(({ path }) => path));
    const all = check(subject, facts);
    found.push(...(name === "without-effect" ? all.filter(({ path }) => !paths.has(path)) : all));
  }
  return found;
}

/** A problem that a rule refuses. */
export function asViolation(
  rule: string,
  code: Violation["code"],
): (problem: Problem) => Violation {
  return ({ path, message }) => ({ rule, path, message, code });
}

/** False for a problem that a rule has found already, with a better path. Only rules with code 422 say the same as rendering. */
function isNewsTo(known: readonly Violation[]): (problem: Problem) => boolean {
  const wrong = known.filter(({ code }) => code === 422);
  return ({ path }) => !wrong.some((one) => one.path.startsWith(path) || path.startsWith(one.path));
}
