import { ApiError } from "../../access/kube/api-error.ts";
import { missingRightIn } from "../../access/kube/missing-right.ts";
import type { Clock } from "../../access/time/clock.ts";
import { withTimeout } from "../../access/time/deadline.ts";
import { isKeptWhileUsed, keepWhileUsedAnnotation } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { recordAt } from "../../api/fields.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { groupOf, type KubeObject, isControlled } from "../../api/kubernetes.ts";
import { knownResource, type ResourceType } from "../../api/resources.ts";
import { cannotList, silences, stillUsed, useNeedsRight } from "../../api/sentences.ts";
import { componentUidLabel, definitionLabel } from "../../installation/anchor.ts";
import { readAnchor } from "../apply/anchor/anchor.ts";
import { kindsOfGroups } from "../apply/served-kinds.ts";
import type { Target } from "../target/target.ts";
import type { FinalizeRequest, Recollection } from "./finalize-scope.ts";

interface UseQuestion extends Required<Omit<FinalizeRequest, "observation">> {
  readonly clock: Clock;
}

const definition = knownResource("apiextensions.k8s.io/v1", "CustomResourceDefinition");
// Objects of each kind that the message names, and characters of a name with its namespace.
const namedObjects = 3;
const longestName = 320;
// While a conversion webhook does not answer, an API server asks the client to retry a list, again and again.
const listLimitMs = 5_000;

/**
 * Throws FleetError `ClusterBusy` when a component with the annotation still has users: objects of the kinds that the installation defined, unless another object controls
 * them. The uninstall would remove their controllers, and with them the programs that remove their finalizers. Throws `ApplyFailed` with code `Forbidden` without the right to
 * list them. Sends no request for a component without the annotation. Spec: knative-operator.md D-60.
 */
export async function assertUnused(question: UseQuestion, signal: AbortSignal): Promise<void> {
  const { component, target } = question;
  if (!isKeptWhileUsed(component)) return;
  const kinds = await servedKindsOf(await definitionNames(question, signal), target, signal);
  const users = await Promise.all(kinds.map((kind) => findUsers(kind, question, signal)));
  const descriptions = users.flatMap(usersText).toSorted();
  if (descriptions.length === 0) return;
  const message = `${stillUsed.of()} ${descriptions.join("; ")}; delete them, or take ${keepWhileUsedAnnotation} off the component`;
  throw new FleetError("ClusterBusy", message);
}

/** Names of the CRDs that were installed. When neither the inventory nor this process knows all of them, all CRDs with our label count. */
async function definitionNames(
  { clock, component, target, recall }: UseQuestion,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const recorded = await inventoryOf({ component, target }, signal);
  const { entries, isAll } = recorded ?? (await recall());
  const installed = entries.filter(({ kind }) => kind === definition.kind).map(({ name }) => name);
  if (isAll) return installed;
  const labelSelector = `${definitionLabel}=true`;
  const labelled = await listMetadata(
    { resource: definition, labelSelector },
    { clock, target },
    signal,
  );
  return [...new Set([...installed, ...labelled.map(({ metadata: { name } }) => name)])];
}

/** The inventory of the anchor; undefined without one. */
async function inventoryOf(
  { component, target }: Pick<UseQuestion, "component" | "target">,
  signal: AbortSignal,
): Promise<Recollection | undefined> {
  try {
    const anchor = await readAnchor(component, target, signal);
    return anchor?.inventory && { entries: anchor.inventory.entries, isAll: true };
  } catch (error) {
    if (!(error instanceof FleetError) || error.reason !== "AnchorConflict") throw error;
    // The installation belongs to another component, so this uninstall removes nothing that is used.
    return { entries: [], isAll: true };
  }
}

/** The kinds of CRDs by their names, `plural.group`, as the cluster serves them now. A kind that is not served has no objects. */
async function servedKindsOf(
  names: readonly string[],
  target: Target,
  signal: AbortSignal,
): Promise<readonly ResourceType[]> {
  const definitions = new Set(names);
  const groups = [...new Set(names.map((name) => name.slice(name.indexOf(".") + 1)))]
    // Objects of internal groups are made by Knative only.
    .filter((group) => !group.includes("internal."));
  const served = await kindsOfGroups(target.client, groups, signal);
  return served.filter(({ plural, apiVersion }) =>
    definitions.has(`${plural}.${apiVersion.split("/")[0]}`),
  );
}

interface Users {
  readonly kind: string;
  readonly objects: readonly KubeObject[];
}

/** The objects of a kind without our label and without an owner that controls them. */
async function findUsers(
  resource: ResourceType,
  { clock, target }: Pick<UseQuestion, "clock" | "target">,
  signal: AbortSignal,
): Promise<Users> {
  const labelSelector = `!${componentUidLabel}`;
  const objects = await listMetadata({ resource, labelSelector }, { clock, target }, signal);
  return { kind: resource.kind, objects: objects.filter((object) => !isControlled(object)) };
}

/** Lists objects, without those of a kind that is not served. Throws FleetError `ClusterBusy` when the cluster cannot list them for now, and `ApplyFailed` without the right. */
async function listMetadata(
  ref: { readonly resource: ResourceType; readonly labelSelector: string },
  { clock, target: { client } }: Pick<UseQuestion, "clock" | "target">,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const { resource } = ref;
  const limit = withTimeout(clock, listLimitMs, signal);
  try {
    const { items } = await client.list(ref, { metadataOnly: true }, limit);
    return items;
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted || isConversionFailure(error)) {
      const message = await unlistedMessage(resource, client, signal);
      throw new FleetError("ClusterBusy", message);
    }
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 404) return [];
    if (error.status !== 403) throw error;
    const right = missingRightIn(error.message) ?? `the right to list ${resource.plural}`;
    const message = `${useNeedsRight.of(right)}, which the controller lacks on the target cluster; docs/removal.md has the role`;
    throw new FleetError("ApplyFailed", message, { code: "Forbidden", cause: error });
  }
}

/** `2 Broker (a/one, a/two)`; nothing for a kind without users. */
function usersText({ kind, objects }: Users): readonly string[] {
  if (objects.length === 0) return [];
  const names = objects
    .map(({ metadata: { namespace, name } }) => [namespace, name].filter(Boolean).join("/"))
    .toSorted()
    .map((name) => foreignText(name, longestName));
  const more = names.length > namedObjects ? ", …" : "";
  const some = names.slice(0, namedObjects).join(", ");
  return [`${objects.length} ${foreignText(kind, 63)} (${some}${more})`];
}

/** Whether an API server cannot list objects for now because nobody converts them to the requested version. */
function isConversionFailure(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.status === 429 || /conversion webhook for/.test(error.message);
}

/** Names the conversion webhook of a kind that cannot be listed, where its CRD can be read. */
async function unlistedMessage(
  { kind, plural, apiVersion }: ResourceType,
  client: Target["client"],
  signal: AbortSignal,
): Promise<string> {
  const sentence = `Looking for users before the removal: ${cannotList.of(foreignText(kind, 63))}`;
  const name = `${plural}.${groupOf(apiVersion)}`;
  const stored = await client
    .get({ resource: definition, name }, {}, signal)
    .catch((error: unknown) => {
      if (error instanceof ApiError) return undefined;
      throw error;
    });
  const converter = recordAt(stored, "spec", "conversion", "webhook", "clientConfig", "service");
  const { namespace, name: service } = converter;
  if (typeof namespace !== "string" || typeof service !== "string") return sentence;
  const webhook = foreignText(`${namespace}/${service}`, longestName);
  return `${sentence}; ${silences.conversion.of(webhook)}`;
}
