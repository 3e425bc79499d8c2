import type { ClusterProfileRef, Component, ComponentKind } from "../../api/component.ts";
import { isRecord } from "../../api/fields.ts";
import type { Violation } from "../reviews/review.ts";
import type { ComponentFacts } from "./component-facts.ts";

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
