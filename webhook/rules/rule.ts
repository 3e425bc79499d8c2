import type { ProviderFile } from "../../access/providers/provider-config.ts";
import type { ReferencePolicy } from "../../access/providers/reference-policy.ts";
import type { AllowedSource } from "../../access/urls/allowed-source.ts";
import type { ClusterProfile } from "../../api/cluster-profile.ts";
import type {
  ClusterProfileRef,
  Component,
  ComponentKind,
  ComponentKey,
} from "../../api/component.ts";
import { below, type FieldProblem, quoteValue } from "../../api/field-path.ts";
import { isRecord } from "../../api/fields.ts";
import type { Remark } from "../../render/remarks/remarks.ts";
import type { Violation } from "../reviews/review.ts";

/** JSON of unknown shape. */
export type Fields = Readonly<Record<string, unknown>>;

/** An object of a spec, with its path. */
export type Entry = readonly [entry: Fields, path: string];

/** The component that a user wants to store. Rules read `spec` whatever its shape is. */
export interface Subject {
  readonly kind: ComponentKind;
  readonly namespace: string;
  readonly name: string;
  readonly username: string;
  /** Empty when there is none. */
  readonly spec: Fields;
  /** The spec that is stored; undefined on a create. */
  readonly before: Fields | undefined;
  /** Labels and annotations of a component that is created; absent on an update, which never fails because of them. */
  readonly metadata?: Fields;
  /** The target cluster, when the reference is one. */
  readonly ref: ClusterProfileRef | undefined;
  /** The component without its misshapen fields; undefined when the rest cannot be understood without them. */
  readonly component: Component | undefined;
  /** The fields that do not have the shape of the schema. */
  readonly misshapen: readonly Problem[];
}

/** One thing that is wrong, or probably not meant. */
export type Problem = FieldProblem;

export { below, quoteValue };

/** One rule: the problems that it finds. Pure. */
export type Check = (subject: Subject, facts: ComponentFacts) => readonly Problem[];

/** A rule that refuses. */
export interface Rule {
  readonly code: Violation["code"];
  readonly check: Check;
}

/** A component that the hub holds. */
export interface StoredComponent extends ComponentKey {
  /** Its target cluster; undefined: the hub itself. */
  readonly ref: ClusterProfileRef | undefined;
}

/** The hub did not answer. Never counts as a yes. */
export type Unknown = "unknown";

/** A part of a spec that can bring more to the cluster than the settings of Knative do. */
export interface StrongPart {
  readonly path: string;
  /** The part, for a message. */
  readonly what: string;
  /** Equal for a part that is stored already. */
  readonly value: unknown;
}

/** All that rules use besides the request. A fact that is undefined was not asked for. */
export interface ComponentFacts {
  /** Whether the user may use the ClusterProfile. */
  readonly mayUse: boolean | Unknown | undefined;
  /** The new parts of the spec that need the right `apply-cluster-scoped`; empty where nobody asks for it. */
  readonly strongParts: readonly StrongPart[];
  /** Whether the user has that right. */
  readonly mayApply: boolean | Unknown | undefined;
  /** The ClusterProfile; "absent" when there is none. */
  readonly profile: ClusterProfile | "absent" | Unknown | undefined;
  readonly components: readonly StoredComponent[] | Unknown;
  /** The provider files on the hub; undefined when the webhook can see none. */
  readonly providers: readonly ProviderFile[] | undefined;
  /** Why the plugin of the provider that would be used cannot be run. */
  readonly pluginProblem: string | undefined;
  /** What rendering found; undefined: nothing was rendered. */
  readonly render: RenderFindings | undefined;
  /** Who may use which ClusterProfile; undefined: every namespace all of them. */
  readonly references: ReferencePolicy | undefined;
  /** Where manifests may come from; undefined: not known here. */
  readonly manifestSources: readonly AllowedSource[] | undefined;
}

/** What the controller would say about a component. Neither the cluster is asked nor anything fetched. */
export interface RenderFindings {
  /** About the version and the way to it. */
  readonly version: readonly Problem[];
  /** About `spec.patches`. */
  readonly patches: readonly Problem[];
  /** About the rest. */
  readonly others: readonly Problem[];
  /** The version that would be installed; undefined when it is not known. */
  readonly target: string | undefined;
  /** What a user should know. Of a component with manifests of its own, which are not known here, only what the release says. */
  readonly remarks: readonly Remark[];
}

/** Renders without a cluster. Never rejects because of the component. `early` ends the search for remarks, and not the check. */
export type RenderCheck = (
  component: Component,
  signal: AbortSignal,
  early?: AbortSignal,
) => Promise<RenderFindings>;

/** The elements of a list that are objects, with their paths. */
export function entriesOf(spec: Fields, field: string): readonly Entry[] {
  return elementsOf(spec[field], below("spec", field));
}

/** The elements of any list that are objects, with their paths below that of the list. */
export function elementsOf(list: unknown, path: string): readonly Entry[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown, index) =>
    isRecord(entry) ? [[entry, below(path, index)] as const] : [],
  );
}

/** The overrides of workloads, under both names of the field, in the order in which they are applied. */
export function workloadsOf(spec: Fields): readonly Entry[] {
  return [...entriesOf(spec, "deployments"), ...entriesOf(spec, "workloads")];
}

/** The settings of resources, of the component's own list and of the workloads. */
export function resourcesOf(spec: Fields): readonly Entry[] {
  const own = workloadsOf(spec).flatMap(([entry, path]) =>
    elementsOf(entry["resources"], below(path, "resources")),
  );
  return [...entriesOf(spec, "resources"), ...own];
}

/** The problem at a path, when there is a message. */
export function problemAt(path: string, message: string | undefined): readonly Problem[] {
  return message === undefined ? [] : [{ path, message }];
}

/** The problem at a path, when something is wrong. */
export function problemIf(isWrong: boolean, path: string, message: string): readonly Problem[] {
  return isWrong ? [{ path, message }] : [];
}
