import { recordAt } from "../../api/fields.ts";
import { anchorAnnotations, guardAnnotations, guardLabels } from "../anchor.ts";
import { guardRules } from "./guard-rules.ts";
import {
  type GuardFacts,
  type GuardName,
  type GuardOwner,
  type GuardRequest,
  guardViewOf,
} from "./guard-view.ts";

/** The resource that a request is about, as the API server names it. */
export interface GuardedResource {
  readonly group: string;
  readonly resource: string;
  readonly subResource: string | undefined;
}

/** The guard for requests for a resource; undefined: none. Spec: anchor-guard.md 3. */
export function guardOf({
  group,
  resource,
  subResource = "",
}: GuardedResource): GuardName | undefined {
  const path = subResource === "" ? resource : `${resource}/${subResource}`;
  if (group === "" && path === "configmaps") return "anchor-guard";
  if (group === "" && namespacePaths.includes(path)) return "namespace-guard";
  if (group === "apiextensions.k8s.io" && definitionPaths.includes(path)) return "crd-guard";
  return undefined;
}

const namespacePaths: readonly string[] = [
  "namespaces",
  "namespaces/finalize",
  "namespaces/status",
];
const definitionPaths: readonly string[] = [
  "customresourcedefinitions",
  "customresourcedefinitions/status",
];

/** Whether a guard of the hub has to do with the old or the new object. */
export function isGuarded(
  guard: GuardName,
  { operation, object, oldObject }: GuardRequest,
  hubId: string,
): boolean {
  // The guard of CRDs ignores creations, and reads the old object.
  if (guard === "crd-guard") return operation !== "CREATE" && hasMark(guard, oldObject, hubId);
  return hasMark(guard, object, hubId) || hasMark(guard, oldObject, hubId);
}

function hasMark(guard: GuardName, object: GuardRequest["object"], hubId: string): boolean {
  if (guard === "anchor-guard") {
    const annotations = recordAt(object, "metadata", "annotations");
    return (
      annotations[anchorAnnotations.hubId] === hubId &&
      Object.hasOwn(annotations, anchorAnnotations.protected)
    );
  }
  const label = guard === "namespace-guard" ? guardLabels.namespace : guardLabels.crd;
  return recordAt(object, "metadata", "labels")[label] === hubId;
}

/** The facts that decide about a request. Facts that are not asked for may be false. */
export function factsFor(
  guard: GuardName,
  { operation, object, oldObject }: GuardRequest,
): { readonly [Fact in keyof GuardFacts]: boolean } {
  const wanted = confirmationOf(object);
  const isNew = wanted !== undefined && wanted !== confirmationOf(oldObject);
  return {
    namespaceTerminating: guard === "anchor-guard" && operation === "DELETE",
    mayUnprotect: operation === "UPDATE" && isNew,
  };
}

function confirmationOf(object: GuardRequest["object"]): unknown {
  return recordAt(object, "metadata", "annotations")[guardAnnotations.confirmDeletion];
}

/** Why a guard refuses a request. Undefined when it lets the request pass. Equal to the answer of the policy of that name. Spec: anchor-guard.md 4. */
export function guardRefusal(
  guard: GuardName,
  request: GuardRequest,
  { owner, facts }: { readonly owner: GuardOwner; readonly facts: GuardFacts },
): string | undefined {
  if (!isGuarded(guard, request, owner.hubId)) return undefined;
  const view = guardViewOf(request, owner, facts);
  return guardRules[guard].find((rule) => !rule.passes(view))?.message(view);
}
