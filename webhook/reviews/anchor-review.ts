import type { KubeClient } from "../../access/kube/kube-client.ts";
import { knownResource } from "../../api/resources.ts";
import {
  factsFor,
  guardOf,
  isGuarded,
  guardRefusal,
} from "../../installation/guard/guard-decision.ts";
import {
  type GuardFacts,
  type GuardName,
  type GuardOwner,
  type GuardRequest,
  guardViewOf,
} from "../../installation/guard/guard-view.ts";
import type { Review } from "../reply.ts";
import type { AccessReviews } from "./access-review.ts";
import type { AdmissionRequest, Violation } from "./review.ts";

export interface AnchorReviewDeps {
  /** The guarded cluster, whose API server sends the reviews. */
  readonly client: Pick<KubeClient, "get">;
  readonly accessReviews: AccessReviews;
  /** The hubs whose anchors are guarded. Several entries of one hub count as one entry with all their users, each of which is its controller. */
  readonly owners: readonly GuardOwner[];
}

/**
 * Reviews by the rules of the anchor guard, for clusters without admission policies: the same decisions with the same texts.
 * Spec: anchor-guard.md 10.
 */
export function anchorReview(deps: AnchorReviewDeps): Review {
  const hubs = eachHubOnce(deps.owners);
  return async (request, signal) => {
    const guard = guardOf({ ...request.resource, subResource: request.subResource });
    if (guard === undefined) return { violations: [], warnings: [] };
    const seen: GuardRequest = { ...request, username: request.userInfo.username };
    const owners = hubs.filter(({ hubId }) => isGuarded(guard, seen, hubId));
    if (owners.length === 0) return { violations: [], warnings: [] };
    const facts = await gather({ guard, request, seen }, deps, signal);
    const refusals = owners.flatMap((owner) => guardRefusal(guard, seen, { owner, facts }) ?? []);
    return { violations: refusals.slice(0, 1).map(violationOf(guard)), warnings: [] };
  };
}

// One by one, the entries of a hub would refuse each other's users.
function eachHubOnce(owners: readonly GuardOwner[]): readonly GuardOwner[] {
  const byHub = Map.groupBy(owners, ({ hubId }) => hubId);
  return Array.from(byHub, ([hubId, entries]) => ({
    hubId,
    hubUsers: entries.flatMap(({ hubUsers }) => hubUsers),
  }));
}

const violationOf =
  (rule: GuardName) =>
  (message: string): Violation => ({ rule, path: "", message, code: 403 });

interface Asked {
  readonly guard: GuardName;
  readonly request: AdmissionRequest;
  readonly seen: GuardRequest;
}

async function gather(
  { guard, request, seen }: Asked,
  { client, accessReviews }: AnchorReviewDeps,
  signal: AbortSignal,
): Promise<GuardFacts> {
  const wanted = factsFor(guard, seen);
  const [namespaceTerminating, mayUnprotect] = await Promise.all([
    wanted.namespaceTerminating && isTerminating(client, seen.namespace, signal),
    wanted.mayUnprotect && accessReviews.may(request.userInfo, unprotectOf(guard, seen), signal),
  ]);
  return { namespaceTerminating, mayUnprotect };
}

const namespaceResource = knownResource("v1", "Namespace");

/** True also for a namespace that is gone, because nothing in it needs protection. */
async function isTerminating(
  client: AnchorReviewDeps["client"],
  name: string | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  if (name === undefined) return false;
  const ref = { resource: namespaceResource, name };
  const namespace = await client.get(ref, { metadataOnly: true }, signal);
  return namespace === undefined || namespace.metadata.deletionTimestamp !== undefined;
}

/** The virtual right to have a guarded object deleted. Spec: anchor-guard.md 2. */
function unprotectOf(guard: GuardName, request: GuardRequest) {
  const nobody = { hubId: "", hubUsers: [] };
  const unknown = { namespaceTerminating: false, mayUnprotect: false };
  const { name, namespace } = guardViewOf(request, nobody, unknown);
  const where = { "anchor-guard": namespace, "namespace-guard": name, "crd-guard": undefined };
  const place = where[guard];
  return {
    verb: "unprotect",
    group: "operator.knative.dev",
    resource: "anchors",
    name,
    ...(place === undefined ? {} : { namespace: place }),
  };
}
