import { componentKinds } from "../../../api/component.ts";
import { isRecord, listAt } from "../../../api/fields.ts";
import { fleetSetKinds, type FleetSetSpec } from "../../../api/fleet-set.ts";
import { referenceStart } from "../../../sets/values.ts";
import { newStrongParts } from "../rights/author-rights.ts";
import { below, type Problem, quoteValue } from "../rule.ts";
import type { AnsweredRight, NeededRight, SetSubject } from "./set-rule.ts";

/**
 * The rights that the author of a change needs, because the controller makes the change on components with its own rights. Changes of the rollout
 * need none. Spec: sets.md R13.
 */
export async function rightsForSpec(
  subject: SetSubject,
  { manifestRight }: { readonly manifestRight: boolean },
  signal: AbortSignal,
): Promise<readonly NeededRight[]> {
  const { changed, spec } = subject;
  const writes = changed.clusters || changed.content;
  const deletes = changed.clusters || changed.removal;
  const adopts = writes || changed.adoption;
  const paths = {
    create: writes ? "spec.template" : undefined,
    patch: adopts && spec.adoption === "Always" ? "spec.adoption" : undefined,
    "apply-cluster-scoped": writes && manifestRight ? await pathOfStrong(spec, signal) : undefined,
    delete: deletes ? pathOfDeletion(spec) : undefined,
  };
  return [
    ...(writes ? clusterRights(subject) : []),
    ...Object.entries(paths).flatMap(([verb, path]) =>
      path === undefined ? [] : [componentRight(subject, verb, path)],
    ),
  ];
}

/** The right to use the ClusterProfiles of each selected namespace. A placement selects from the namespace of the set. */
function clusterRights({ spec, namespace }: SetSubject): readonly NeededRight[] {
  const { from, selector } = spec.clusters;
  const named = from === "Selector" ? selector?.namespaces : undefined;
  if (named === undefined) return [clusterRight(namespace, "spec.clusters")];
  return named.map((where, index) =>
    clusterRight(where, below("spec", "clusters", "selector", "namespaces", index)),
  );
}

function clusterRight(namespace: string, path: string): NeededRight {
  const resource = { group: "multicluster.x-k8s.io", resource: "clusterprofiles" };
  return {
    path,
    attempt: { verb: "use", ...resource, namespace },
    deed: `use all ClusterProfiles of namespace ${quoteValue(namespace)}`,
  };
}

function componentRight({ kind, namespace }: SetSubject, verb: string, path: string): NeededRight {
  const component = fleetSetKinds[kind].component;
  const resource = componentKinds[component].plural;
  const place = `${component}s in namespace ${quoteValue(namespace)}`;
  return {
    path,
    attempt: { verb, group: "operator.knative.dev", resource, namespace },
    deed:
      verb === "apply-cluster-scoped"
        ? `"apply-cluster-scoped" for ${place}, which images, manifests and patches of one's own need`
        : `${verb} ${place}`,
  };
}

/** The path of the first spec or patch with something that needs the right. */
async function pathOfStrong(
  { template, overrides = [] }: FleetSetSpec,
  signal: AbortSignal,
): Promise<string | undefined> {
  const places: readonly (readonly [unknown, string])[] = [
    [template.spec, below("spec", "template", "spec")],
    ...overrides.map(
      ({ patch }, index) => [patch, below("spec", "overrides", index, "patch")] as const,
    ),
  ];
  for (const [spec, path] of places) {
    if (!isRecord(spec)) continue;
    if (listAt(spec, "patches").some(isOpen)) return path;
    if ((await newStrongParts(spec, undefined, signal)).length > 0) return path;
  }
  return undefined;
}

/** True when a patch has a reference, so that a value of a cluster decides what it writes. */
function isOpen(patch: unknown): boolean {
  return JSON.stringify(patch).includes(referenceStart);
}

function pathOfDeletion({ whenUnselected, deletionPolicy }: FleetSetSpec): string | undefined {
  if (whenUnselected?.policy === "Delete") return "spec.whenUnselected.policy";
  return deletionPolicy === "Delete" ? "spec.deletionPolicy" : undefined;
}

/** Refuses the rights that the author lacks. The message does not tell whether a namespace or a cluster exists. */
export function missingRights(
  rights: readonly AnsweredRight[],
  username: string,
): readonly Problem[] {
  return rights.flatMap(({ answer, path, deed }) =>
    answer === false ? [{ path, message: `user ${quoteValue(username)} may not ${deed}` }] : [],
  );
}

/** Refuses the rights whose SubjectAccessReview was not answered. */
export function unknownRights(rights: readonly AnsweredRight[]): readonly Problem[] {
  return rights.flatMap(({ answer, path, deed }) => {
    if (answer !== "unknown") return [];
    const message = `the SubjectAccessReview for the right to ${deed} was not answered; try again`;
    return [{ path, message }];
  });
}
