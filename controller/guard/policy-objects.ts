import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { KubeObject, Manifest } from "../../api/kubernetes.ts";
import { knownResource, type ResourceType } from "../../api/resources.ts";
import type { GuardName } from "../../installation/guard/guard-view.ts";
import { guardPolicyOf, policyNameOf } from "./policy.ts";

const group = "admissionregistration.k8s.io/v1";
const policies = knownResource(group, "ValidatingAdmissionPolicy");
const bindings = knownResource(group, "ValidatingAdmissionPolicyBinding");

/** The two kinds that guards consist of. */
export const policyKinds: readonly ResourceType[] = [policies, bindings];

/** The guards that are installed on a cluster. */
export function guardsOf({ crds }: { readonly crds: boolean }): readonly GuardName[] {
  return ["anchor-guard", "namespace-guard", ...(crds ? (["crd-guard"] as const) : [])];
}

/** An object of a guard as it is on the cluster, and what there was before. */
export interface SettledObject {
  readonly object: KubeObject;
  readonly before: "missing" | "different" | "equal";
}

interface Wanted {
  readonly resource: ResourceType;
  readonly name: string;
  /** What it should be, instead of what there is. */
  readonly manifest: (live: KubeObject | undefined) => Manifest;
}

/** A guard as it is on a cluster; undefined: it is not there. */
export interface LiveGuard {
  readonly guard: GuardName;
  readonly policy: KubeObject | undefined;
  readonly binding: KubeObject | undefined;
}

/** Reads the policies and bindings of a hub, all at once. Throws ApiError, 403 when the right is missing. */
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
  /** The users that a policy has to know; undefined: it is not there yet. Asked whenever it was read or written. */
  readonly usersOf: (policy: KubeObject | undefined) => readonly string[];
  /** What was read just now; also undefined where nobody looked. */
  readonly live: readonly LiveGuard[];
}

/**
 * Makes policies and bindings be what they should: missing ones are created, different ones replaced in place, never deleted and created.
 * Sends nothing when all is well. Throws ApiError, 403 when the right is missing.
 */
export async function settlePolicies(
  { client, fieldManager, hubId, usersOf, live }: PolicyWork,
  signal: AbortSignal,
): Promise<readonly SettledObject[]> {
  const settled = await Promise.allSettled(
    live.flatMap((found) => {
      const name = policyNameOf(found.guard, hubId);
      const made = (policy: KubeObject | undefined) =>
        guardPolicyOf(found.guard, { hubId, hubUsers: usersOf(policy) });
      const settle = (one: Omit<Wanted, "name">, before: KubeObject | undefined) =>
        settleObject({ ...one, name }, { client, fieldManager, live: before }, signal);
      const policy = { resource: policies, manifest: (now?: KubeObject) => made(now).policy };
      const { binding } = made(found.policy);
      // The binding right behind its policy: before it was seen to be slow, and after the answer costs a round trip.
      return [
        settle(policy, found.policy).then(joined(usersOf)),
        settle({ resource: bindings, manifest: () => binding }, found.binding),
      ];
    }),
  );
  // Nothing is on the way any more when one failed.
  return settled.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}

/** Asked of each policy as it is in the end: what looks after it knows of it then. */
function joined(usersOf: PolicyWork["usersOf"]): (settled: SettledObject) => SettledObject {
  return (settled) => {
    usersOf(settled.object);
    return settled;
  };
}

/** Deletes the bindings and then the policies of a hub, last the one that `isGuardInstalled` asks for; what is gone already is no error. */
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

/** Whether a cluster knows the anchor guard of a hub at all. */
export async function isGuardInstalled(
  client: Pick<KubeClient, "get">,
  hubId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const ref = { resource: policies, name: policyNameOf("anchor-guard", hubId) };
  return (await client.get(ref, { metadataOnly: true }, signal)) !== undefined;
}

/** Whether an object says all that another one wants; lists have to be equally long. What the server fills in besides does not matter. */
export function says(live: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    // The server leaves empty lists out.
    if (wanted.length === 0 && live === undefined) return true;
    if (!Array.isArray(live) || live.length !== wanted.length) return false;
    return wanted.every((entry, at) => says(live[at], entry));
  }
  if (typeof wanted !== "object" || wanted === null) return live === wanted;
  if (typeof live !== "object" || live === null) return false;
  const fields = new Map<string, unknown>(Object.entries(live));
  return Object.entries(wanted).every(([key, value]) => says(fields.get(key), value));
}

/** Fields that change what a policy does and that ours do not have: somebody else put them there. */
const foreignFields: readonly (readonly [string, string])[] = [
  ["spec", "paramKind"],
  ["spec", "paramRef"],
  ["spec", "matchResources"],
];

function isEqual(live: KubeObject, manifest: Manifest): boolean {
  const spec = new Map<string, unknown>(Object.entries(live["spec"] ?? {}));
  const isForeign = foreignFields.some(([, field]) => spec.get(field) !== undefined);
  const constraints = new Map<string, unknown>(Object.entries(spec.get("matchConstraints") ?? {}));
  // The server adds empty ones; others would let objects slip through.
  const selectors = ["namespaceSelector", "objectSelector", "excludeResourceRules"];
  const narrowed = selectors.some((field) => Object.keys(constraints.get(field) ?? {}).length > 0);
  const { labels } = manifest.metadata;
  return (
    !isForeign &&
    !narrowed &&
    says(live["spec"], manifest["spec"]) &&
    says(live.metadata.labels ?? {}, labels)
  );
}

interface Settling {
  readonly client: PolicyClient;
  readonly fieldManager: string;
  readonly live: KubeObject | undefined;
}

const maxAttempts = 5;

async function settleObject(
  { resource, name, manifest }: Wanted,
  { client, fieldManager, live }: Settling,
  signal: AbortSignal,
): Promise<SettledObject> {
  const ref = { resource, name };
  let current = live;
  for (let attempt = 1; ; attempt += 1) {
    const wanted = manifest(current);
    if (current !== undefined && isEqual(current, wanted))
      return { object: current, before: "equal" };
    try {
      if (current === undefined) {
        const object = await client.create(ref, wanted, { fieldManager }, signal);
        return { object, before: "missing" };
      }
      // Not by apply: what others added to a list would stay.
      const { resourceVersion, uid } = current.metadata;
      const metadata = { ...wanted.metadata, resourceVersion, uid };
      const object = await client.replace(ref, { ...wanted, metadata }, {}, signal);
      return { object, before: "different" };
    } catch (error) {
      // What cannot be created because it is not found is not served.
      const statuses = current === undefined ? [409] : [404, 409];
      const isOutdated = error instanceof ApiError && statuses.includes(error.status);
      if (!isOutdated || attempt === maxAttempts) throw error;
    }
    current = await client.get(ref, {}, signal);
  }
}
