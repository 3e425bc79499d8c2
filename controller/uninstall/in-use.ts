import { ApiError, missingRightIn } from "../../access/kube/api-error.ts";
import type { Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { recordAt } from "../../api/fields.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { groupOf, type KubeObject } from "../../api/kubernetes.ts";
import { knownResource, type ResourceType } from "../../api/resources.ts";
import { componentUidLabel, definitionLabel } from "../../installation/anchor.ts";
import { readAnchor } from "../apply/anchor/anchor.ts";
import { kindsOfGroup } from "../apply/served-kinds.ts";
import type { Target } from "../apply/target.ts";
import type { FinalizeRequest, Recollection } from "./finalize-scope.ts";

/** On a component: it is not uninstalled while somebody uses it. */
export const keepWhileUsedAnnotation = "knfleet.dev/keep-while-used";

/** Whether a component asks for it. */
export function isKeptWhileUsed({ metadata }: Component): boolean {
  return metadata.annotations?.[keepWhileUsedAnnotation] === "true";
}

type UseQuestion = Required<Omit<FinalizeRequest, "observation">>;

const definition = knownResource("apiextensions.k8s.io/v1", "CustomResourceDefinition");
// Of each kind, and of the name of an object with its namespace.
const namedObjects = 3;
const longestName = 320;
// An API server whose watch cache waits for a conversion webhook asks for another try, again and again.
const listLimitMs = 5_000;

/**
 * Throws FleetError `ClusterBusy` when a component that asks for it still has users: objects of the kinds that its installation defined, made by
 * nobody but a person or a program that nothing else controls. Their controllers would go, and with them whoever takes off their finalizers. `ApplyFailed` with
 * code `Forbidden` when nobody may look. Costs no request unless it is asked for. Spec: knative-operator.md D-60.
 */
export async function assertUnused(question: UseQuestion, signal: AbortSignal): Promise<void> {
  const { component, target } = question;
  if (!isKeptWhileUsed(component)) return;
  const kinds = await kindsNamed(await definitionsOf(question, signal), target, signal);
  const users = await Promise.all(kinds.map((kind) => usersOf(kind, target, signal)));
  const told = users.flatMap(tellingOf).toSorted();
  if (told.length === 0) return;
  const message = `Still used by ${told.join("; ")}; delete them, or take ${keepWhileUsedAnnotation} off the component`;
  throw new FleetError("ClusterBusy", message);
}

/** The names of the definitions that were installed. Where neither an inventory nor anybody's memory tells all of them, every one of ours on the cluster may be. */
async function definitionsOf(
  { component, target, recall }: UseQuestion,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found = await recollectionOf({ component, target }, signal);
  const { entries, isAll } = found ?? (await recall());
  const known = entries.filter(({ kind }) => kind === definition.kind).map(({ name }) => name);
  if (isAll) return known;
  const labelSelector = `${definitionLabel}=true`;
  const ours = await listed({ resource: definition, labelSelector }, target, signal);
  return [...new Set([...known, ...ours.map(({ metadata: { name } }) => name)])];
}

/** Undefined where no inventory tells it. */
async function recollectionOf(
  { component, target }: Omit<UseQuestion, "recall">,
  signal: AbortSignal,
): Promise<Recollection | undefined> {
  try {
    const anchor = await readAnchor(component, target, signal);
    return anchor?.inventory && { entries: anchor.inventory.entries, isAll: true };
  } catch (error) {
    if (!(error instanceof FleetError) || error.reason !== "AnchorConflict") throw error;
    // Nothing is removed from under another's anchor, and who is there uses what is the other's.
    return { entries: [], isAll: true };
  }
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
  const served = await Promise.all(
    groups.map((group) => kindsOfGroup(target.client, group, signal)),
  );
  return served
    .flat()
    .filter(({ plural, apiVersion }) => wanted.has(`${plural}.${apiVersion.split("/")[0]}`));
}

interface Users {
  readonly kind: string;
  readonly objects: readonly KubeObject[];
}

async function usersOf(
  resource: ResourceType,
  target: Target,
  signal: AbortSignal,
): Promise<Users> {
  const labelSelector = `!${componentUidLabel}`;
  const objects = await listed({ resource, labelSelector }, target, signal);
  return { kind: resource.kind, objects: objects.filter((object) => !isControlled(object)) };
}

function isControlled({ metadata: { ownerReferences = [] } }: KubeObject): boolean {
  return ownerReferences.some(({ controller }) => controller === true);
}

async function listed(
  ref: { readonly resource: ResourceType; readonly labelSelector: string },
  { client }: Target,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const { resource } = ref;
  const late = AbortSignal.timeout(listLimitMs);
  try {
    const either = AbortSignal.any([signal, late]);
    const { items } = await client.list(ref, { metadataOnly: true }, either);
    return items;
  } catch (error) {
    signal.throwIfAborted();
    if (late.aborted || isUnconverted(error)) {
      const message = await unlistedMessage(resource, client, signal);
      throw new FleetError("ClusterBusy", message);
    }
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 404) return [];
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

/** Whether the API server cannot show objects for now because it does not get them in the version that was asked for. */
function isUnconverted(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.status === 429 || /conversion webhook for/.test(error.message);
}

async function unlistedMessage(
  { kind, plural, apiVersion }: ResourceType,
  client: Target["client"],
  signal: AbortSignal,
): Promise<string> {
  const sentence = `Looking for users before the removal: the cluster cannot list ${foreignText(kind, 63)} for now`;
  const name = `${plural}.${groupOf(apiVersion)}`;
  const found = await client
    .get({ resource: definition, name }, {}, signal)
    .catch((error: unknown) => {
      if (error instanceof ApiError) return undefined;
      throw error;
    });
  const { namespace, name: service } = converterOf(found);
  if (typeof namespace !== "string" || typeof service !== "string") return sentence;
  const webhook = foreignText(`${namespace}/${service}`, longestName);
  return `${sentence}; their conversion webhook, Service ${webhook}, may not answer`;
}

function converterOf(found: KubeObject | undefined): Readonly<Record<string, unknown>> {
  return recordAt(found, "spec", "conversion", "webhook", "clientConfig", "service");
}
