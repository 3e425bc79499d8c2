import { isDeepStrictEqual } from "node:util";

import { parse } from "yaml";

import { isRecord } from "../../api/fields.ts";
import { objectId } from "../../api/keys.ts";
import { groupOf, keyOf, type Manifest } from "../../api/kubernetes.ts";
import { type Fields } from "../../render/fields.ts";
import {
  errorDifference,
  type FieldDifference,
  fieldDifference,
  isForeignClusterKind,
} from "./differences.ts";
import type { CaseOutcome } from "./render-case.ts";
import type { RenderCase, RenderVectors } from "./render-cases.ts";

/** Something in which a case and upstream's record differ. */
export interface Difference {
  /** Number of the rule that allows it; undefined: it is wrong. */
  readonly defect: string | undefined;
  /** What differs, for people. */
  readonly text: string;
  /** An object that is wrong, on both sides. */
  readonly sides?: Sides;
}

interface Sides {
  readonly id: string;
  readonly expected: Manifest | undefined;
  readonly actual: Manifest | undefined;
}

/** Everything in which the outcome of a case differs from what upstream did; empty when they are equal. */
export function differencesOf(
  one: RenderCase,
  outcome: CaseOutcome,
  normalize: RenderVectors["normalize"],
): readonly Difference[] {
  if (one.objects === undefined) return errorDifferences(one, outcome);
  const { rendered, error } = outcome;
  if (rendered === undefined) {
    const defect = errorDifference(one.expected, outcome);
    return [{ defect, text: `is refused: ${error?.message ?? "no message"}` }];
  }
  const { version, paths, deletions } = rendered;
  const { targetVersion, statusManifests = [], deletedAfterReady = [] } = one.expected;
  const deleted = deletions.map(({ apiVersion, kind, namespace = "", name }) =>
    [apiVersion, kind, namespace, name].join("/"),
  );
  const guarded = isGuarded(outcome);
  const wantedPaths = statusManifests.map((path) => path.replaceAll("@DATA_DIR@/", ""));
  // Upstream forgets the guard (D-13).
  const upstreamPaths = guarded
    ? paths.filter((path) => !path.startsWith("security-guard/"))
    : paths;
  const actual = folded(rendered.objects.map(normalize), { guarded: false });
  // An additional object that upstream keeps beside its twin takes its place here (D-20).
  const added = hasAdditions(outcome) ? actual.byId : undefined;
  return [
    ...(version === targetVersion ? [] : [wrong("version", targetVersion, version)]),
    ...(isDeepStrictEqual(upstreamPaths.map(withoutCase), wantedPaths.map(withoutCase))
      ? []
      : [wrong("status.manifests", wantedPaths, paths)]),
    ...(isDeepStrictEqual(deleted, deletedAfterReady)
      ? []
      : [wrong("deletions", deletedAfterReady, deleted)]),
    ...objectDifferences(folded(one.objects.map(normalize), { guarded, added }), actual, outcome),
  ];
}

// The folder of a case has another name for everybody who reads it.
function withoutCase(path: string): string {
  return path.replaceAll(/(?:file:|@CASE_DIR@\/)/g, "");
}

function errorDifferences(one: RenderCase, outcome: CaseOutcome): readonly Difference[] {
  const { error: expected = "", phase } = one.expected;
  const prefix = "Version migration is not eligible with message: ";
  const text = expected.replace(prefix, "").replace(/^the /, "").replaceAll("@CASE_DIR@/", "");
  const actual = outcome.error?.message;
  const isSame = actual?.replaceAll("@CASE_DIR@/", "").includes(withoutLibrary(text)) === true;
  const isSamePhase =
    (outcome.error?.reason === "VersionNotEligible") === (phase === "not-eligible");
  if (isSame && isSamePhase) return [];
  const defect = errorDifference(one.expected, outcome);
  return [{ defect, text: `upstream says "${expected}", here ${actual ?? "it is rendered"}` }];
}

/** What follows these words comes from a library for patches, which has words of its own here. */
function withoutLibrary(text: string): string {
  const words =
    /^patch \d+ target .*?: (?:decode JSON patch|apply (?:JSON|merge|strategic merge) patch|decode strategic merge patch|convert patch content to JSON|decode patched resource): /;
  return words.exec(text)?.[0] ?? text;
}

function wrong(what: string, expected: unknown, actual: unknown): Difference {
  const text = `${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`;
  return { defect: undefined, text };
}

function hasAdditions({ component }: CaseOutcome): boolean {
  return (component.spec?.additionalManifests?.length ?? 0) > 0;
}

function isGuarded({ component }: CaseOutcome): boolean {
  const { kind, spec } = component;
  return kind === "KnativeServing" && spec?.security?.securityGuard.enabled === true;
}

interface Folded {
  readonly byId: ReadonlyMap<string, Manifest>;
  /** Objects that occurred more than once with other content, and the rule by which one of them stands. */
  readonly twins: readonly Difference[];
}

/** Objects by identity. Of upstream's twins the first stands, but for the guard's and user's objects; Namespaces are merged. */
function folded(
  objects: readonly Manifest[],
  { guarded, added }: { readonly guarded: boolean; readonly added?: ReadonlyMap<string, Manifest> },
): Folded {
  const byId = new Map<string, Manifest>();
  const twins: Difference[] = [];
  for (const object of objects.map(comparableForm)) {
    const id = objectId(keyOf(object));
    const first = byId.get(id);
    const isGuards = guarded && object.metadata.name === "config-deployment";
    const isUsers = isDeepStrictEqual(added?.get(id), object);
    if (first === undefined) byId.set(id, object);
    else byId.set(id, isGuards || isUsers ? object : standing(first, object));
    if (first === undefined || isDeepStrictEqual(first, object)) continue;
    const defect = isUsers ? "D-20" : twinDefect(object, isGuards);
    twins.push({ defect, text: `${id} occurs more than once with other content` });
  }
  return { byId, twins };
}

function standing(first: Manifest, second: Manifest): Manifest {
  return isNamespace(first) ? merged(first, second) : first;
}

function twinDefect(object: Manifest, isGuards: boolean): string {
  if (isNamespace(object)) return "D-18";
  return isGuards ? "D-10" : "D-09";
}

function isNamespace({ apiVersion, kind }: Manifest): boolean {
  return apiVersion === "v1" && kind === "Namespace";
}

function merged(first: Manifest, second: Manifest): Manifest {
  const labels = { ...second.metadata.labels, ...first.metadata.labels };
  const annotations = { ...second.metadata.annotations, ...first.metadata.annotations };
  const hasAnnotations = Object.keys(annotations).length > 0;
  const metadata = { ...first.metadata, labels, ...(hasAnnotations ? { annotations } : {}) };
  return { ...first, metadata };
}

function comparableForm(object: Manifest): Manifest {
  const { generateName: _, ...metadata } = object.metadata;
  const isJob = object.kind === "Job" && groupOf(object.apiVersion) === "batch";
  const form: Manifest = isJob ? { ...object, metadata } : withoutWrongNamespace(object);
  // Upstream writes this text anew, with sorted fields.
  if (metadata.name !== "config-br-defaults" || !isRecord(form["data"])) return form;
  const { "default-br-config": text, ...data } = form["data"];
  return { ...form, data: { ...data, "default-br-config": parse(String(text)) } };
}

function withoutWrongNamespace(object: Manifest): Manifest {
  if (!isForeignClusterKind(objectId(keyOf(object)))) return object;
  const { namespace: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function objectDifferences(
  expected: Folded,
  actual: Folded,
  outcome: CaseOutcome,
): readonly Difference[] {
  const ids = new Set([...expected.byId.keys(), ...actual.byId.keys()]);
  const found = [...ids].flatMap((id): readonly Difference[] => {
    const sides = { id, expected: expected.byId.get(id), actual: actual.byId.get(id) };
    const fields = leafDifferences([], sides.expected, sides.actual);
    if (fields.length === 0) return [];
    const defects = fields.map((field) => fieldDifference({ ...sides, ...field }, outcome));
    const missing = defects.indexOf(undefined);
    if (missing < 0) {
      return [...new Set(defects)].map((defect) => ({ defect, text: id }));
    }
    return [{ defect: undefined, text: id, sides }];
  });
  return [...expected.twins, ...found];
}

/** The fields in which two values differ; lists of named items by name, other lists by position. */
function leafDifferences(
  path: readonly string[],
  expected: unknown,
  actual: unknown,
): readonly FieldDifference[] {
  if (isDeepStrictEqual(expected, actual)) return [];
  const left = partsOf(expected);
  const right = partsOf(actual);
  if (left === undefined || right === undefined) return [{ path, expected, actual }];
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  const parts = [...names].flatMap((name) =>
    leafDifferences([...path, name], left[name], right[name]),
  );
  // Equal items in another order.
  return parts.length > 0 ? parts : [{ path, expected, actual }];
}

function partsOf(value: unknown): Fields | undefined {
  if (isRecord(value)) return value;
  if (!Array.isArray(value)) return undefined;
  const items: readonly unknown[] = value;
  const names = items.map((item) => (isRecord(item) ? item["name"] : undefined));
  const named =
    names.every((name) => typeof name === "string") && new Set(names).size === names.length;
  return Object.fromEntries(
    items.map((item, at) => [named ? String(names[at]) : String(at), item]),
  );
}
