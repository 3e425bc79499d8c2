import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient, ObjectRef } from "../../access/kube/kube-client.ts";
import { isContained } from "../../api/fields.ts";
import type { KubeObject, Manifest } from "../../api/kubernetes.ts";
import { knownResource, type ResourceType } from "../../api/resources.ts";
import type { GuardName } from "../../installation/guard/guard-view.ts";
import { guardPolicyOf, policyNameOf } from "./policy.ts";

const group = "admissionregistration.k8s.io/v1";
const policies = knownResource(group, "ValidatingAdmissionPolicy");
const bindings = knownResource(group, "ValidatingAdmissionPolicyBinding");

/** The two kinds that guards consist of. */
export const policyKinds: readonly ResourceType[] = [policies, bindings];

/** The guards that the controller installs on a cluster. */
export function guardsOf({ crds }: { readonly crds: boolean }): readonly GuardName[] {
  return ["anchor-guard", "namespace-guard", ...(crds ? (["crd-guard"] as const) : [])];
}

/** A policy or binding after it was settled, and its state before. */
export interface SettledObject {
  readonly object: KubeObject;
  readonly before: "missing" | "different" | "equal";
}

/** A guard as it is on a cluster. Undefined: the object does not exist. */
export interface LiveGuard {
  readonly guard: GuardName;
  readonly policy: KubeObject | undefined;
  readonly binding: KubeObject | undefined;
}

/** Reads the policies and bindings of a hub in parallel. Throws ApiError, 403 when the right is missing. */
export function readGuards(
  client: Pick<KubeClient, "get">,
  { guards, hubId }: { readonly guards: readonly GuardName[]; readonly hubId: string },
  signal: AbortSignal,
): Promise<readonly LiveGuard[]> {
  return Promise.all(
    guards.map(async (guard) => {
      const name = policyNameOf(guard, hubId);
      const [policy, binding] = await Promise.all([
        client.get({ resource: policies, name }, {}, signal),
        client.get({ resource: bindings, name }, {}, signal),
      ]);
      return { guard, policy, binding };
    }),
  );
}

type PolicyClient = Pick<KubeClient, "get" | "create" | "replace">;

export interface PolicyWork {
  readonly client: PolicyClient;
  readonly fieldManager: string;
  readonly hubId: string;
  /** The users that a policy must let in. Called with each policy that was read or written, and with undefined for one that does not exist. */
  readonly usersOf: (policy: KubeObject | undefined) => readonly string[];
  /** The guards as they were just read. Undefined also stands for an object that was not read. */
  readonly live: readonly LiveGuard[];
}

/**
 * Creates missing policies and bindings, and replaces different ones in place. Deletes none. Sends nothing when all are as desired.
 * Throws ApiError, 403 when the right is missing.
 */
export async function settlePolicies(
  { client, fieldManager, hubId, usersOf, live }: PolicyWork,
  signal: AbortSignal,
): Promise<readonly SettledObject[]> {
  const settled = await Promise.allSettled(
    live.flatMap(({ guard, ...before }) => {
      const name = policyNameOf(guard, hubId);
      const guardPolicy = (policy: KubeObject | undefined) =>
        guardPolicyOf(guard, { hubId, hubUsers: usersOf(policy) });
      const desiredPolicy = (policy: KubeObject | undefined) => guardPolicy(policy).policy;
      const settlePolicy = async (): Promise<SettledObject> => {
        const ref = { resource: policies, name };
        const work = { client, fieldManager, desired: desiredPolicy, live: before.policy };
        const policy = await settleObject(ref, work, signal);
        // The caller has to see each policy as it is now.
        usersOf(policy.object);
        return policy;
      };
      const { binding } = guardPolicy(before.policy);
      const work = { client, fieldManager, desired: () => binding, live: before.binding };
      // Policy first, without waiting for its answer: API servers are slow to accept a binding without a policy, and waiting costs a round trip.
      return [settlePolicy(), settleObject({ resource: bindings, name }, work, signal)];
    }),
  );
  // `allSettled`, so that no request is still running when this function throws.
  return settled.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}

/** Deletes the bindings and then the policies of a hub, last the policy that `isGuardInstalled` reads. A missing object is no error. */
export async function removePolicies(
  client: Pick<KubeClient, "remove">,
  hubId: string,
  signal: AbortSignal,
): Promise<void> {
  for (const resource of [bindings, policies]) {
    for (const guard of guardsOf({ crds: true }).toReversed()) {
      await client.remove({ resource, name: policyNameOf(guard, hubId) }, {}, signal);
    }
  }
}

/** Whether a cluster has the anchor guard of a hub. */
export async function isGuardInstalled(
  client: Pick<KubeClient, "get">,
  hubId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const ref = { resource: policies, name: policyNameOf("anchor-guard", hubId) };
  return (await client.get(ref, { metadataOnly: true }, signal)) !== undefined;
}

/** Fields of a spec that change the effect of a policy and that our policies never have. */
const foreignFields = ["paramKind", "paramRef", "matchResources"];

function isAsDesired(live: KubeObject, manifest: Manifest): boolean {
  const spec = new Map<string, unknown>(Object.entries(live["spec"] ?? {}));
  const isForeign = foreignFields.some((field) => spec.get(field) !== undefined);
  const constraints = new Map<string, unknown>(Object.entries(spec.get("matchConstraints") ?? {}));
  // The server adds empty selectors. Others would exempt objects from the policy.
  const selectors = ["namespaceSelector", "objectSelector", "excludeResourceRules"];
  const narrowed = selectors.some((field) => Object.keys(constraints.get(field) ?? {}).length > 0);
  const { labels } = manifest.metadata;
  return (
    !isForeign &&
    !narrowed &&
    isContained(manifest["spec"], live["spec"]) &&
    isContained(labels, live.metadata.labels ?? {})
  );
}

interface ObjectWork {
  readonly client: PolicyClient;
  readonly fieldManager: string;
  /** The desired object in place of a live one. */
  readonly desired: (live: KubeObject | undefined) => Manifest;
  readonly live: KubeObject | undefined;
}

const maxAttempts = 5;

async function settleObject(
  ref: ObjectRef,
  { client, fieldManager, desired, live }: ObjectWork,
  signal: AbortSignal,
): Promise<SettledObject> {
  let current = live;
  for (let attempt = 1; ; attempt += 1) {
    const manifest = desired(current);
    if (current !== undefined && isAsDesired(current, manifest)) {
      return { object: current, before: "equal" };
    }
    try {
      if (current === undefined) {
        const object = await client.create(ref, manifest, { fieldManager }, signal);
        return { object, before: "missing" };
      }
      // Not by apply, which would keep the entries that others added to a list.
      const { resourceVersion, uid } = current.metadata;
      const metadata = { ...manifest.metadata, resourceVersion, uid };
      const object = await client.replace(ref, { ...manifest, metadata }, {}, signal);
      return { object, before: "different" };
    } catch (error) {
      // A create that answers 404 means that the kind is not served.
      const statuses = current === undefined ? [409] : [404, 409];
      const isOutdated = error instanceof ApiError && statuses.includes(error.status);
      if (!isOutdated || attempt === maxAttempts) throw error;
    }
    current = await client.get(ref, {}, signal);
  }
}
