import { ApiError } from "../access/api-error.ts";
import { foreignText } from "../access/foreign-text.ts";
import { componentUidLabel } from "../api/anchor.ts";
import type { Component } from "../api/component.ts";
import { FleetError } from "../api/errors.ts";
import { isRecord } from "../api/fields.ts";
import type { KubeObject } from "../api/kubernetes.ts";
import type { ResourceType } from "../api/resources.ts";
import { readRoot } from "./apply/anchor.ts";
import type { Target } from "./apply/target.ts";
import { missingRightIn } from "./missing-right.ts";

/** On a component: it is not uninstalled while somebody uses it. */
export const keepWhileUsedAnnotation = "knfleet.dev/keep-while-used";

interface Installed {
  readonly component: Component;
  readonly target: Target;
}

// Of each kind, and of the name of an object with its namespace.
const namedObjects = 3;
const longestName = 320;

/**
 * Throws FleetError `ClusterBusy` when a component that asks for it still has users: objects of the kinds that its installation defined, made by
 * nobody but a person or a program that nothing else controls. Their controllers would go, and with them whoever takes off their finalizers. `ApplyFailed` with
 * code `Forbidden` when nobody may look. Costs no request unless it is asked for. Spec: knative-operator.md D-60.
 */
export async function assertUnused(
  { component, target }: Installed,
  signal: AbortSignal,
): Promise<void> {
  if (component.metadata.annotations?.[keepWhileUsedAnnotation] !== "true") return;
  const root = await readRoot(component, target, signal);
  const entries = root?.inventory?.entries ?? [];
  const names = entries
    .filter(({ kind }) => kind === "CustomResourceDefinition")
    .map(({ name }) => name);
  const kinds = await kindsNamed(names, target, signal);
  const users = await Promise.all(kinds.map((kind) => usersOf(kind, target, signal)));
  const told = users.flatMap(tellingOf).toSorted();
  if (told.length === 0) return;
  const message = `Still used by ${told.join("; ")}; delete them, or take ${keepWhileUsedAnnotation} off the component`;
  throw new FleetError("ClusterBusy", message);
}

/** The kinds of definitions by their names, `plural.group`, as the cluster serves them now; what is not served has no objects. */
async function kindsNamed(
  names: readonly string[],
  target: Target,
  signal: AbortSignal,
): Promise<readonly ResourceType[]> {
  const wanted = new Set(names);
  const groups = [...new Set(names.map((name) => name.slice(name.indexOf(".") + 1)))]
    // What Knative keeps for itself is nobody's to delete.
    .filter((group) => !group.includes("internal."));
  const served = await Promise.all(groups.map((group) => kindsOf(group, target, signal)));
  return served
    .flat()
    .filter(({ plural, apiVersion }) => wanted.has(`${plural}.${apiVersion.split("/")[0]}`));
}

async function kindsOf(
  group: string,
  { client }: Target,
  signal: AbortSignal,
): Promise<readonly ResourceType[]> {
  const facts = await orNothing(client.request("GET", `/apis/${group}`, undefined, signal));
  const preferred = isRecord(facts) ? facts["preferredVersion"] : undefined;
  const apiVersion = isRecord(preferred) ? preferred["groupVersion"] : undefined;
  if (typeof apiVersion !== "string") return [];
  const answer = await orNothing(client.request("GET", `/apis/${apiVersion}`, undefined, signal));
  const resources: unknown = isRecord(answer) ? answer["resources"] : undefined;
  if (!Array.isArray(resources)) return [];
  return resources.filter(isRecord).flatMap(({ name, kind, namespaced }) => {
    // A slash is a subresource.
    if (typeof name !== "string" || typeof kind !== "string" || name.includes("/")) return [];
    return [{ apiVersion, kind, plural: name, namespaced: namespaced === true }];
  });
}

async function orNothing(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

interface Users {
  readonly kind: string;
  readonly objects: readonly KubeObject[];
}

async function usersOf(
  resource: ResourceType,
  { client }: Target,
  signal: AbortSignal,
): Promise<Users> {
  try {
    const ref = { resource, labelSelector: `!${componentUidLabel}` };
    const { items } = await client.list(ref, { metadataOnly: true }, signal);
    const objects = items.filter(
      ({ metadata: { ownerReferences = [] } }) =>
        !ownerReferences.some(({ controller }) => controller === true),
    );
    return { kind: resource.kind, objects };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 404) return { kind: resource.kind, objects: [] };
    if (error.status !== 403) throw error;
    const right = missingRightIn(error.message) ?? `the verb list on ${resource.plural}`;
    const message = `${keepWhileUsedAnnotation} needs ${right}, which the controller lacks on the target cluster`;
    throw new FleetError("ApplyFailed", message, { code: "Forbidden", cause: error });
  }
}

/** `2 Broker (a/one, a/two)`; nothing for a kind without users. */
function tellingOf({ kind, objects }: Users): readonly string[] {
  if (objects.length === 0) return [];
  const names = objects
    .map(({ metadata: { namespace, name } }) => [namespace, name].filter(Boolean).join("/"))
    .toSorted()
    .map((name) => foreignText(name, longestName));
  const more = names.length > namedObjects ? ", …" : "";
  const some = names.slice(0, namedObjects).join(", ");
  return [`${objects.length} ${foreignText(kind, 63)} (${some}${more})`];
}
