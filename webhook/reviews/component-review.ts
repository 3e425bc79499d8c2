import type { ComponentKind } from "../../api/component.ts";
import { isSameJson, recordAt, textAt } from "../../api/fields.ts";
import type { Review } from "../reply.ts";
import { componentRules, componentWarnings } from "../rules/component-rules.ts";
import { asViolation, subjectOf, violationsOf, warningsOf } from "../rules/judge.ts";
import type { Fields } from "../rules/rule.ts";
import { shaper, sizeProblems } from "../rules/shape.ts";
import { rulingOnDeleted } from "./deleted-object.ts";
import { type FactSources, gatherFacts } from "./gather-facts.ts";
import { type AdmissionRequest, placeOf, type Ruling } from "./review.ts";

const nothing: Ruling = { violations: [], warnings: [] };

/**
 * Reviews KnativeServings and KnativeEventings that are created or whose spec changes: all problems at once, each with its field. The spec of a
 * component that is being deleted no longer changes. What changes metadata or status only is never refused (T-73). Nothing is changed.
 */
export function componentReview(sources: FactSources): Review {
  const shapeOf = shaper();
  return async (request, signal, early) => {
    const change = changeIn(request);
    if (change === undefined) return nothing;
    const deleted = rulingOnDeleted(request);
    if (deleted !== undefined) return deleted;
    const { object, installed, ...known } = change;
    const tooLarge = sizeProblems(object);
    if (tooLarge.length > 0) {
      return { violations: tooLarge.map(asViolation("size", 422)), warnings: [] };
    }
    const subject = subjectOf(
      { ...known, username: request.userInfo.username },
      shapeOf,
      installed,
    );
    const facts = await gatherFacts(subject, { ...sources, request, early }, signal);
    const warnings = warningsOf(subject, facts, componentWarnings);
    return {
      violations: violationsOf(subject, facts, componentRules),
      warnings: warnings.map(({ path, message }) => `${path}: ${message}`),
    };
  };
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
  /** Undefined on an update. */
  readonly metadata?: Fields;
  /** `status.version` as it is stored. */
  readonly installed: string | undefined;
}

/**
 * What a request changes about a component; undefined for what always passes: other kinds, subresources, deletions, and changes of
 * metadata only. Security: T-02, T-73.
 */
function changeIn(request: AdmissionRequest): ComponentChange | undefined {
  const { kind, subResource, operation, object, oldObject } = request;
  const known = kindOf(kind);
  if (known === undefined || subResource !== undefined || object === undefined) return undefined;
  const metadata = recordAt(object, "metadata");
  const place = placeOf(request);
  const spec = recordAt(object, "spec");
  if (operation === "CREATE" || (operation === "UPDATE" && oldObject === undefined)) {
    const created = { kind: known, ...place, object, metadata, spec };
    return { ...created, before: undefined, installed: versionOf(object) };
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

function versionOf(object: unknown): string | undefined {
  return textAt(recordAt(object, "status"), "version");
}
