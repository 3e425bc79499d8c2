import { isRecord } from "../api/fields.ts";
import { objectId } from "../api/keys.ts";
import { groupOf, type ObjectKey } from "../api/kubernetes.ts";
import type { DesiredObject } from "./desired.ts";

/** An object with its place in the order of an apply. */
export interface Gated {
  readonly object: DesiredObject;
  /** Lower goes first. */
  readonly rank: number;
  /** Identities that must have been answered before this object is sent; all are part of the same set. */
  readonly after: readonly string[];
  /** The CustomResourceDefinition of the object's kind is sent in this run, so that the server may not serve the kind yet. */
  readonly isOfNewKind: boolean;
  /** Identity of the role that the object binds, when that role is part of the set. */
  readonly role?: string;
}

/**
 * Puts objects in the order in which they are sent, with the gate that replaces waves: a custom resource after its definition. Webhook
 * configurations come last, but wait for nothing: without `rules` (strip-manifests.ts) they cannot refuse the custom resources. Spec:
 * engine-facts.md 1 and Algorithm.
 */
export function gateObjects(objects: readonly DesiredObject[]): readonly Gated[] {
  const definitions = new Map(objects.flatMap(definedKind));
  const definitionOf = (object: DesiredObject): string | undefined =>
    definitions.get(kindOf(object));
  const needed = new Set(objects.map(definitionOf));
  const roles = new Set(objects.filter(({ key }) => isRole(key)).map(({ id }) => id));
  return objects
    .map((object): Gated => {
      const definition = definitionOf(object);
      if (definition !== undefined) {
        return { object, rank: customRank, after: [definition], isOfNewKind: true };
      }
      const rank = needed.has(object.id) ? 1 : rankOf(object);
      const role = boundBy(object);
      const bound = role !== undefined && roles.has(role) ? { role } : {};
      return { object, rank, after: [], isOfNewKind: false, ...bound };
    })
    .toSorted((a, b) => a.rank - b.rank);
}

// Their definitions go first and they themselves late, because a new kind is served only a while after its definition was answered.
const customRank = 5;
const webhookRank = 6;

const ranks: Readonly<Record<string, number>> = {
  // Services take the server the longest, because it finds an address for each. Sent last, they would delay the end.
  "/Service": 1,
  "apiextensions.k8s.io/CustomResourceDefinition": 2,
  "apps/Deployment": 4,
  "apps/StatefulSet": 4,
  "apps/DaemonSet": 4,
  "batch/Job": 4,
  "admissionregistration.k8s.io/MutatingWebhookConfiguration": webhookRank,
  "admissionregistration.k8s.io/ValidatingWebhookConfiguration": webhookRank,
};

function rankOf(object: DesiredObject): number {
  return ranks[kindOf(object)] ?? 3;
}

function isRole({ kind }: ObjectKey): boolean {
  return kind === "Role" || kind === "ClusterRole";
}

/** Identity of the role that a binding grants; undefined for other objects. */
function boundBy({ key, manifest }: DesiredObject): string | undefined {
  const ref = manifest["roleRef"];
  if (groupOf(key.apiVersion) !== "rbac.authorization.k8s.io" || !isRecord(ref)) return undefined;
  const { apiVersion, namespace } = key;
  const role = { apiVersion, kind: String(ref["kind"]), name: String(ref["name"]) };
  const isLocal = role.kind === "Role" && namespace !== undefined;
  return objectId(isLocal ? { ...role, namespace } : role);
}

/** Group and kind of an object, over all its versions. */
export function kindOf({ key }: DesiredObject): string {
  return `${groupOf(key.apiVersion)}/${key.kind}`;
}

/** The kind that a CustomResourceDefinition defines, as `kindOf` writes it, with its own identity; nothing for other objects. */
export function definedKind({ key, id, manifest }: DesiredObject): readonly [string, string][] {
  if (key.kind !== "CustomResourceDefinition") return [];
  const spec = manifest["spec"];
  if (!isRecord(spec) || !isRecord(spec["names"])) return [];
  return [[`${String(spec["group"])}/${String(spec["names"]["kind"])}`, id]];
}
