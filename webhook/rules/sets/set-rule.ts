import type { ReferencePolicy } from "../../../access/providers/reference-policy.ts";
import type { AllowedSource } from "../../../access/urls/allowed-source.ts";
import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import { isSameJson } from "../../../api/fields.ts";
import type { FleetSetKind, FleetSetSpec } from "../../../api/fleet-set.ts";
import type { SpokeNamespaceMode } from "../../../installation/installation-namespace.ts";
import type { Attempt } from "../../reviews/access-review.ts";
import type { Fields, Problem, Rule } from "../rule.ts";

/** A request that creates or changes a set. */
export interface SetChange {
  readonly kind: FleetSetKind;
  readonly namespace: string;
  /** Empty when the API server has yet to generate it. */
  readonly name: string;
  readonly username: string;
  readonly annotations: Fields;
  readonly oldAnnotations: Fields;
  readonly spec: Fields;
  /** The stored spec; undefined on a create. */
  readonly before: Fields | undefined;
}

/** A request whose spec matches the schema. */
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
  /** `whenUnselected` or `deletionPolicy`. */
  readonly removal: boolean;
  /** `adoption`. */
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

/** A right that the author of a set needs. */
export interface NeededRight {
  /** The field that needs the right. */
  readonly path: string;
  readonly attempt: Attempt;
  /** The end of a message, for example `create KnativeServings in namespace "a"`. */
  readonly deed: string;
}

/** A right, and whether the author has it. */
export interface AnsweredRight extends NeededRight {
  readonly answer: boolean | "unknown";
}

/** What the rules for sets use besides the request. */
export interface SetFacts {
  /** The ClusterProfiles of the hub; undefined when they are unknown or the author may not learn about them. */
  readonly profiles: readonly ClusterProfile[] | undefined;
  readonly spokeNamespace: SpokeNamespaceMode;
  /** Which namespace may reference which ClusterProfile; undefined: each may reference all. */
  readonly references: ReferencePolicy | undefined;
  /** Servers that checks of rollouts may ask; undefined: unknown. */
  readonly checkSources: readonly AllowedSource[] | undefined;
}

/** Checks one rule for sets and returns its problems. Pure. */
export type SetCheck = (subject: SetSubject, facts: SetFacts) => readonly Problem[];

/** A rule for sets whose problems refuse the request. */
export interface SetRule extends Pick<Rule, "code"> {
  readonly check: SetCheck;
}
