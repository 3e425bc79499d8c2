import type { AllowedSource } from "../../access/manifests/manifest-url.ts";
import type { ProviderFile } from "../../access/providers/provider-config.ts";
import type { ReferencePolicy } from "../../access/providers/reference-policy.ts";
import type { ClusterProfile } from "../../api/cluster-profile.ts";
import type {
  ClusterProfileRef,
  Component,
  ComponentKind,
  ComponentKey,
} from "../../api/component.ts";
import { isRecord } from "../../api/fields.ts";
import type { Violation } from "../reviews/review.ts";

/** JSON of unknown shape. */
export type Fields = Readonly<Record<string, unknown>>;

/** The component that somebody wants to store. Rules read `spec` whatever its shape is. */
export interface Subject {
  readonly kind: ComponentKind;
  readonly namespace: string;
  readonly name: string;
  readonly username: string;
  /** Empty when there is none. */
  readonly spec: Fields;
  /** The spec that is stored; undefined on a create. */
  readonly before: Fields | undefined;
  /** The target cluster, when the reference is one. */
  readonly ref: ClusterProfileRef | undefined;
  /** The component without what is misshapen; undefined when that is too much to understand the rest. */
  readonly component: Component | undefined;
  /** Where it does not have that shape. */
  readonly misshapen: readonly Problem[];
}

/** One thing that is wrong, or probably not meant. */
export interface Problem {
  /** The field; empty: the object as a whole. */
  readonly path: string;
  readonly message: string;
}

/** What one rule says; pure. */
export type Check = (subject: Subject, facts: ComponentFacts) => readonly Problem[];

/** A rule that refuses. */
export interface Rule {
  readonly code: Violation["code"];
  readonly check: Check;
}

const shownLength = 64;

/** A value of the user's in a message: quoted and short. */
export function shown(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
  return JSON.stringify(text.length <= shownLength ? text : `${text.slice(0, shownLength)}…`);
}

/** Path of a field or an element below another one, as `spec.workloads[0].labels["a/b"]`. */
export function below(path: string, ...parts: readonly (string | number)[]): string {
  return parts.reduce<string>((so, part) => {
    if (typeof part === "number") return `${so}[${part}]`;
    if (!/^[A-Za-z_][\w-]*$/.test(part)) return `${so}[${shown(part)}]`;
    return so === "" ? part : `${so}.${part}`;
  }, path);
}

/** The elements of a list that are objects, with their paths. */
export function entriesOf(
  spec: Fields,
  field: string,
): readonly (readonly [entry: Fields, path: string])[] {
  return elementsOf(spec[field], below("spec", field));
}

/** The elements of any list that are objects, with their paths below that of the list. */
export function elementsOf(
  list: unknown,
  path: string,
): readonly (readonly [entry: Fields, path: string])[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown, index) =>
    isRecord(entry) ? [[entry, below(path, index)] as const] : [],
  );
}

/** The overrides of workloads, under both names that the field has, in the order in which they are applied. */
export function workloadsOf(spec: Fields): readonly (readonly [entry: Fields, path: string])[] {
  return [...entriesOf(spec, "deployments"), ...entriesOf(spec, "workloads")];
}

/** The value itself when it is an object, else an empty one. */
export function recordFields(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** A component that the hub holds. */
export interface StoredComponent extends ComponentKey {
  /** The cluster that it is for; undefined: the hub itself. */
  readonly ref: ClusterProfileRef | undefined;
}

/** What could not be found out; never a yes. */
export type Unknown = "unknown";

/** Everything that rules go by besides the request. Absent facts were not asked for. */
export interface ComponentFacts {
  /** Whether the user may use the ClusterProfile. */
  readonly mayUse: boolean | Unknown | undefined;
  /** Whether the user may bring manifests of which nobody knows yet what they hold. */
  readonly mayApply: boolean | Unknown | undefined;
  /** The ClusterProfile; "absent" when there is none. */
  readonly profile: ClusterProfile | "absent" | Unknown | undefined;
  readonly components: readonly StoredComponent[] | Unknown;
  /** The provider files on the hub; undefined when there is none that the webhook can see. */
  readonly providers: readonly ProviderFile[] | undefined;
  /** Why the plugin of the provider that would be used cannot be run. */
  readonly pluginProblem: string | undefined;
  /** What rendering found; undefined: it was not asked. */
  readonly render: RenderFindings | undefined;
  /** Who may use which ClusterProfile; undefined: everybody all of them. */
  readonly references: ReferencePolicy | undefined;
  /** Where manifests may come from; undefined: not known here. */
  readonly manifestSources: readonly AllowedSource[] | undefined;
}

/** What a release, as this component would have it, is made of: names that fields of the spec go by. */
export interface ReleaseNames {
  /** Names of Deployments and StatefulSets and generateNames of Jobs, each with its containers. */
  readonly workloads: ReadonlyMap<string, readonly string[]>;
  readonly services: ReadonlySet<string>;
  readonly podDisruptionBudgets: ReadonlySet<string>;
  readonly configMaps: ReadonlySet<string>;
}

/** One thing that the controller would stop at, with the field that is the cause. */
export interface RenderProblem {
  readonly path: string;
  readonly message: string;
}

/** What the controller would say about a component, as far as it can be known without the cluster and without fetching anything. */
export interface RenderFindings {
  /** About the version and the way to it. */
  readonly version: readonly RenderProblem[];
  /** About `spec.patches`. */
  readonly patches: readonly RenderProblem[];
  /** About the rest. */
  readonly others: readonly RenderProblem[];
  /** The version that would be installed, and the newest patch of its minor; undefined when they are not known. */
  readonly target: string | undefined;
  readonly newestPatch: string | undefined;
  /** Undefined when they are not known, for example because the manifests are the user's own. */
  readonly names: ReleaseNames | undefined;
}

/** Renders without a cluster. Never rejects because of the component. */
export type RenderCheck = (component: Component, signal: AbortSignal) => Promise<RenderFindings>;
