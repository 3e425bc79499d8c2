import type { Clock } from "../../access/time/clock.ts";
import type { AllowedSource } from "../../access/urls/allowed-source.ts";
import { recordAt } from "../../api/fields.ts";
import type { FleetSetKind } from "../../api/fleet-set.ts";
import type { SpokeNamespaceMode } from "../../installation/installation-namespace.ts";
import type { Review } from "../reply.ts";
import { asViolation } from "../rules/judge.ts";
import {
  approvalProblems,
  rightsToApprove,
  steeringProblems,
} from "../rules/sets/set-approvals.ts";
import { rightsToLoosen } from "../rules/sets/set-gates.ts";
import { missingRights, rightsForSpec, unknownRights } from "../rules/sets/set-rights.ts";
import {
  type AnsweredRight,
  changedParts,
  type NeededRight,
  type SetChange,
  type SetFacts,
  type SetSubject,
} from "../rules/sets/set-rule.ts";
import { setRules, setWarnings } from "../rules/sets/set-rules.ts";
import { setShaper } from "../rules/sets/set-shape.ts";
import { rightsToRunJobs, rightsToUseSecrets } from "../rules/sets/set-verify.ts";
import { sizeProblems } from "../rules/shape.ts";
import type { AccessReviews } from "./access-review.ts";
import { rulingOnDeleted } from "./deleted-object.ts";
import type { HubFacts } from "./hub-facts.ts";
import { type ResultSources, resultJudge } from "./judge-results.ts";
import {
  type AdmissionRequest,
  placeOf,
  type Ruling,
  type UserInfo,
  type Violation,
} from "./review.ts";

export interface SetSources extends ResultSources {
  readonly facts: Pick<HubFacts, "profiles">;
  readonly accessReviews: AccessReviews;
  /** Whether manifests of the author's own need the right `apply-cluster-scoped`. Security: T-33. */
  readonly manifestRight: boolean;
  readonly spokeNamespace: SpokeNamespaceMode;
  /** Servers that checks of rollouts may ask; absent: unknown. */
  readonly checkSources?: readonly AllowedSource[];
  readonly clock: Pick<Clock, "date">;
}

const nothing: Ruling = { violations: [], warnings: [] };

/**
 * Reviews KnativeServingSets and KnativeEventingSets that are created, whose spec changes or whose stages are approved: all problems at once, each
 * with its field. The spec of a set that is being deleted no longer changes. What changes other metadata or status only is never refused. Spec: sets.md 5, R9, R13.
 */
export function setReview(sources: SetSources): Review {
  const shapeOf = setShaper();
  const judgeResults = resultJudge(sources);
  return async (request, signal, early) => {
    const change = changeIn(request);
    if (change === undefined) return nothing;
    const deleted = rulingOnDeleted(request);
    if (deleted !== undefined) return deleted;
    const changed = changedParts(change);
    const approval = [
      ...approvalProblems(change),
      ...steeringProblems(change, sources.clock.date()),
    ].map(asViolation("approval", 422));
    if (!changed.spec) {
      const rights = await askFor(rightsToApprove(change), { sources, request }, signal);
      return { violations: [...rightViolations(rights, change), ...approval], warnings: [] };
    }
    const tooLarge = sizeProblems(request.object ?? {});
    if (tooLarge.length > 0) {
      return { violations: tooLarge.map(asViolation("size", 422)), warnings: [] };
    }
    const { spec, problems } = shapeOf(change.spec);
    if (spec === undefined) {
      return { violations: problems.map(asViolation("shape", 422)), warnings: [] };
    }
    const subject: SetSubject = { ...change, spec, changed };
    const needed = [
      ...(await rightsForSpec(subject, sources, signal)),
      ...rightsToLoosen(change),
      ...rightsToApprove(change),
      ...rightsToUseSecrets(subject),
      ...rightsToRunJobs(subject),
    ];
    const rights = await askFor(needed, { sources, request }, signal);
    const facts = await factsFor(subject, { rights, sources }, signal);
    const results = await judgeResults(subject, facts, { signal, early });
    const violations = [
      ...rightViolations(rights, change),
      ...approval,
      ...fieldViolations(subject, facts),
      ...results.violations,
    ];
    return { violations, warnings: [...warningsAbout(subject, facts), ...results.warnings] };
  };
}

/** What a request changes about a set; undefined for what always passes: other kinds, subresources and deletions. */
function changeIn(request: AdmissionRequest): SetChange | undefined {
  const { kind, subResource, operation, object, oldObject } = request;
  const known = kindOf(kind);
  if (known === undefined || subResource !== undefined || object === undefined) return undefined;
  if (operation !== "CREATE" && operation !== "UPDATE") return undefined;
  const metadata = recordAt(object, "metadata");
  const isUpdate = operation === "UPDATE" && oldObject !== undefined;
  return {
    kind: known,
    ...placeOf(request),
    username: request.userInfo.username,
    annotations: recordAt(metadata, "annotations"),
    oldAnnotations: recordAt(oldObject, "metadata", "annotations"),
    spec: recordAt(object, "spec"),
    before: isUpdate ? recordAt(oldObject, "spec") : undefined,
  };
}

function kindOf({ group, kind }: AdmissionRequest["kind"]): FleetSetKind | undefined {
  if (group !== "knfleet.dev") return undefined;
  return kind === "KnativeServingSet" || kind === "KnativeEventingSet" ? kind : undefined;
}

interface Asked {
  readonly sources: SetSources;
  readonly request: { readonly userInfo: UserInfo };
}

/** Asks for all rights at once. An answer that does not come is never a yes. */
async function askFor(
  rights: readonly NeededRight[],
  { sources, request }: Asked,
  signal: AbortSignal,
): Promise<readonly AnsweredRight[]> {
  const answered = await Promise.all(
    rights.map(async (right): Promise<AnsweredRight> => {
      const answer = sources.accessReviews.may(request.userInfo, right.attempt, signal);
      return { ...right, answer: await answer.catch(() => "unknown" as const) };
    }),
  );
  // A review that comes too late is not decided at all.
  signal.throwIfAborted();
  return answered;
}

function rightViolations(
  rights: readonly AnsweredRight[],
  { username }: SetChange,
): readonly Violation[] {
  return [
    ...missingRights(rights, username).map(asViolation("right", 403)),
    ...unknownRights(rights).map(asViolation("right-unknown", 500)),
  ];
}

/** Who lacks a right learns nothing about the clusters. */
async function factsFor(
  { changed }: SetSubject,
  { rights, sources }: { readonly rights: readonly AnsweredRight[]; readonly sources: SetSources },
  signal: AbortSignal,
): Promise<SetFacts> {
  const { facts, spokeNamespace, checkSources } = sources;
  const common = { spokeNamespace, checkSources, references: sources.references?.policy };
  const isKnown = changed.clusters || changed.content;
  if (!isKnown || rights.some(({ answer }) => answer !== true)) {
    return { profiles: undefined, ...common };
  }
  const profiles = await facts.profiles(signal).catch(() => undefined);
  signal.throwIfAborted();
  return { profiles, ...common };
}

function fieldViolations(subject: SetSubject, facts: SetFacts): readonly Violation[] {
  return Object.entries(setRules).flatMap(([rule, { code, check }]) =>
    check(subject, facts).map(asViolation(rule, code)),
  );
}

function warningsAbout(subject: SetSubject, facts: SetFacts): readonly string[] {
  return Object.values(setWarnings)
    .flatMap((check) => check(subject, facts))
    .map(({ path, message }) => `${path}: ${message}`);
}
