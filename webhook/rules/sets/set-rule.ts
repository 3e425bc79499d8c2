import type { ReferencePolicy } from "../../../access/providers/reference-policy.ts";
import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import { isSameJson } from "../../../api/fields.ts";
import type { FleetSetKind, FleetSetSpec } from "../../../api/fleet-set.ts";
import type { SpokeNamespaceMode } from "../../../installation/installation-namespace.ts";
import type { Attempt } from "../../reviews/access-review.ts";
import type { Fields, Problem, Rule } from "../rule.ts";

/** A set that is created or changed. */
export interface SetChange {
  readonly kind: FleetSetKind;
  readonly namespace: string;
  /** Empty when the API server has yet to make it. */
  readonly name: string;
  readonly username: string;
  readonly annotations: Fields;
  readonly oldAnnotations: Fields;
  readonly spec: Fields;
  /** The spec that is stored; undefined on a create. */
  readonly before: Fields | undefined;
}

/** A change of the spec, in the shape of its schema. */
export interface SetSubject extends Omit<SetChange, "spec"> {
  readonly spec: FleetSetSpec;
  readonly changed: ChangedParts;
}

/** Which parts of a spec a request changes; all of them on a create. */
export interface ChangedParts {
  readonly spec: boolean;
  readonly clusters: boolean;
  /** Template or overrides. */
  readonly content: boolean;
  /** When components are deleted. */
  readonly removal: boolean;
  /** Whether components that others wrote are taken over. */
  readonly adoption: boolean;
}

/** The parts that a request changes. */
export function changedParts({ spec, before }: Pick<SetChange, "spec" | "before">): ChangedParts {
  const differs = (...fields: readonly string[]): boolean =>
    before === undefined || fields.some((field) => !isSameJson(spec[field], before[field]));
  return {
    spec: before === undefined || !isSameJson(spec, before),
    clusters: differs("clusters"),
    content: differs("template", "overrides"),
    removal: differs("whenUnselected", "deletionPolicy"),
    adoption: differs("adoption"),
  };
}

/** What the author of a set has to be allowed to do. */
export interface NeededRight {
  /** The field because of which it is needed. */
  readonly path: string;
  readonly attempt: Attempt;
  /** As in `may not create KnativeServings`. */
  readonly deed: string;
}

/** A right, and whether the author has it. */
export interface AnsweredRight extends NeededRight {
  readonly answer: boolean | "unknown";
}

/** All that the rules of sets use besides the request. */
export interface SetFacts {
  /** The ClusterProfiles of the hub; undefined: not known, or not for the author to know. */
  readonly profiles: readonly ClusterProfile[] | undefined;
  readonly spokeNamespace: SpokeNamespaceMode;
  /** Who may use which ClusterProfile; undefined: every namespace all of them. */
  readonly references: ReferencePolicy | undefined;
}

/** One rule for sets: the problems that it finds. Pure. */
export type SetCheck = (subject: SetSubject, facts: SetFacts) => readonly Problem[];

/** A rule for sets that refuses. */
export interface SetRule extends Pick<Rule, "code"> {
  readonly check: SetCheck;
}
