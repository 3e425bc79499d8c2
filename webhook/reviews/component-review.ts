import type { ComponentKind } from "../../api/component.ts";
import { isSameJson, recordAt, textAt } from "../../api/fields.ts";
import type { Review } from "../reply.ts";
import { componentRules, componentWarnings } from "../rules/component-rules.ts";
import { refOf } from "../rules/reference.ts";
import type { ComponentFacts, Fields, Problem, Subject } from "../rules/rule.ts";
import { shaper, sizeProblems } from "../rules/shape.ts";
import { type FactSources, gatherFacts } from "./gather-facts.ts";
import type { Ruling, Violation, AdmissionRequest } from "./review.ts";

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
    const place = { ...known, installed };
    const { component, problems } = shapeOf(known.spec, place);
    const subject: Subject = {
      ...known,
      username: request.userInfo.username,
      ref: refOf(known.spec),
      component: component ?? shapeOf(soundPart(known.spec, problems), place).component,
      misshapen: problems,
    };
    return rulingOn(subject, await gatherFacts(subject, { ...sources, request }, signal));
  };
}

/** The spec without its misshapen fields, so that problems of the version are found too; the whole spec when a field that the version depends on is misshapen. */
function soundPart(spec: Fields, problems: readonly Problem[]): Fields {
  const wrong = new Set(problems.map(({ path }) => /^spec\.([\w-]+)/.exec(path)?.[1] ?? "version"));
  if (wrong.has("version") || wrong.has("manifests")) return spec;
  return Object.fromEntries(Object.entries(spec).filter(([field]) => !wrong.has(field)));
}

/** Applies all rules. */
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

/** False for a problem that a rule has found already, with a better path. Only rules with code 422 say the same as rendering. */
function isNewsTo(known: readonly Violation[]): (problem: Problem) => boolean {
  const wrong = known.filter(({ code }) => code === 422);
  return ({ path }) => !wrong.some((one) => one.path.startsWith(path) || path.startsWith(one.path));
}

/** A component that is created or whose spec changes. */
export interface ComponentChange {
  readonly kind: ComponentKind;
  readonly namespace: string;
  readonly name: string;
  readonly object: Fields;
  readonly spec: Fields;
  /** The spec that is stored; undefined on a create. */
  readonly before: Fields | undefined;
  /** `status.version` as it is stored. */
  readonly installed: string | undefined;
}

/**
 * What a request changes about a component; undefined for what always passes: other kinds, subresources, deletions, objects that are being deleted, and
 * changes of metadata only. Security: T-02, T-73.
 */
function changeIn(request: AdmissionRequest): ComponentChange | undefined {
  const { kind, subResource, operation, object, oldObject } = request;
  const known = kindOf(kind);
  if (known === undefined || subResource !== undefined || object === undefined) return undefined;
  const metadata = recordAt(object, "metadata");
  if (typeof metadata["deletionTimestamp"] === "string") return undefined;
  const place = placeOf(request, metadata);
  const spec = recordAt(object, "spec");
  if (operation === "CREATE" || (operation === "UPDATE" && oldObject === undefined)) {
    return { kind: known, ...place, object, spec, before: undefined, installed: versionOf(object) };
  }
  if (operation !== "UPDATE") return undefined;
  const before = recordAt(oldObject, "spec");
  if (isSameJson(spec, before)) return undefined;
  return { kind: known, ...place, object, spec, before, installed: versionOf(oldObject) };
}

function kindOf({ group, kind }: AdmissionRequest["kind"]): ComponentKind | undefined {
  if (group !== "operator.knative.dev") return undefined;
  return kind === "KnativeServing" || kind === "KnativeEventing" ? kind : undefined;
}

function placeOf({ namespace, name }: AdmissionRequest, metadata: Fields) {
  return {
    namespace: namespace ?? textAt(metadata, "namespace") ?? "",
    name: name ?? textAt(metadata, "name") ?? "",
  };
}

function versionOf(object: unknown): string | undefined {
  return textAt(recordAt(object, "status"), "version");
}
