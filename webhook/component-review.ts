import { changeIn } from "./component-change.ts";
import { type FactSources, gatherFacts } from "./gather-facts.ts";
import type { Review } from "./reply.ts";
import type { Ruling, Violation } from "./review.ts";
import type { ComponentFacts } from "./rules/component-facts.ts";
import { componentRules, componentWarnings } from "./rules/component-rules.ts";
import { refOf } from "./rules/reference.ts";
import type { Problem, Subject } from "./rules/rule.ts";
import { shaper } from "./rules/schema.ts";
import { sizeProblems } from "./rules/size.ts";

const nothing: Ruling = { violations: [], warnings: [] };

/**
 * Reviews KnativeServings and KnativeEventings that are created or whose spec changes: all problems at once, each with its field. What is being
 * deleted, and what changes metadata or status only, is never refused (T-73). Nothing is changed.
 */
export function componentReview(sources: FactSources): Review {
  const shapeOf = shaper();
  return async (request, signal) => {
    const change = changeIn(request);
    if (change === undefined) return nothing;
    const { object, installed, ...known } = change;
    const tooLarge = sizeProblems(object);
    if (tooLarge.length > 0) {
      return { violations: tooLarge.map(violation("size", 422)), warnings: [] };
    }
    const { component, problems } = shapeOf(known.spec, { ...known, installed });
    const subject: Subject = {
      ...known,
      username: request.userInfo.username,
      ref: refOf(known.spec),
      component,
      misshapen: problems,
    };
    return rulingOn(subject, await gatherFacts(subject, { ...sources, request }, signal));
  };
}

/** All that the rules say. */
function rulingOn(subject: Subject, facts: ComponentFacts): Ruling {
  const violations: Violation[] = [];
  for (const [rule, { code, check }] of Object.entries(componentRules)) {
    const found = check(subject, facts);
    const news = rule === "rendering" ? found.filter(isNewsTo(violations)) : found;
    violations.push(...news.map(violation(rule, code)));
  }
  const warnings = Object.values(componentWarnings).flatMap((check) => check(subject, facts));
  return { violations, warnings: warnings.map(({ path, message }) => `${path}: ${message}`) };
}

function violation(rule: string, code: Violation["code"]): (problem: Problem) => Violation {
  return ({ path, message }) => ({ rule, path, message, code });
}

/** Rendering stops at the first problem, which a rule may have found with a better path. */
function isNewsTo(known: readonly Violation[]): (problem: Problem) => boolean {
  return ({ path }) => !known.some((one) => one.path.startsWith(path) || path.startsWith(one.path));
}
