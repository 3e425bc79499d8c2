import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { type Clock, delay } from "../../access/time/clock.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import {
  guardsOf,
  type LiveGuard,
  readGuards,
  type SettledObject,
  settlePolicies,
} from "./policy-objects.ts";
import { type ProbeConnection, type Prober, ProbeRounds } from "./prober.ts";
import { type ClusterUser, sharingOf } from "./protection.ts";
import { type SelfReview, servesPolicies } from "./whoami.ts";

/** The guard does not protect, for a known reason. */
export class Unproven extends Error {
  override readonly name = "Unproven";
  readonly reason: "NotEnforced" | "NotSupported";

  constructor(reason: "NotEnforced" | "NotSupported", message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface EstablishWork {
  readonly client: KubeClient;
  readonly fieldManager: string;
  readonly hubId: string;
  readonly crds: boolean;
  /** The user of the controller on the cluster. */
  readonly self: Promise<SelfReview>;
  /** Our policies probably do not exist yet: they are created without being read first. */
  readonly isFresh: boolean;
  readonly clock: Clock;
  readonly prober: Pick<Prober, "probeCreations">;
}

export interface EstablishHooks {
  /** Namespace in which the creation of an anchor is probed. Undefined: there is none yet. */
  readonly namespace: () => string | undefined;
  /** Returns the users that a live policy must let in, and adds this user to them. */
  readonly onUser: (policy: KubeObject, user: ClusterUser) => readonly ClusterUser[];
  /** Called right after the first requests about policies were sent. */
  readonly onSent: () => void;
  /** The policies are as desired, but not proven yet. */
  readonly onSettled: (objects: readonly SettledObject[]) => void;
}

const limitMs = 30_000;
/** An API server reads policies about every second: the answer to an earlier probe depends on chance. */
const policyReloadMs = 1_500;
const probePauseMs = 500;
/** Every API server has read a policy that did not change for so long. */
const settledMs = 60_000;

/**
 * Installs the guards on a cluster and proves that its API servers enforce them. Resolves with the live policies, and with the reason why other people
 * may have the controller's user, if there is one. Throws `Unproven`, ApiError (403: no right to policies) or the error of the connection.
 * Spec: anchor-guard.md 6.1, 6.2.
 */
export async function establish(
  work: EstablishWork,
  hooks: EstablishHooks,
  signal: AbortSignal,
): Promise<{ readonly sharing: string | undefined; readonly settled: readonly KubeObject[] }> {
  const { client } = work;
  const [user, live] = await Promise.all([work.self, readLiveGuards(work, signal)]);
  let users: readonly ClusterUser[] = [user];
  const usersOf = (policy: KubeObject | undefined) => {
    if (policy === undefined) return [user.username];
    users = hooks.onUser(policy, user);
    return users.map(({ username }) => username);
  };
  const settling = withServedCheck(client, signal, () =>
    settlePolicies({ ...work, usersOf, live }, signal),
  );
  hooks.onSent();
  const objects = await settling;
  hooks.onSettled(objects);
  const isOld = isSettled(objects, user.serverTimeMs);
  if (!(isOld && (await isDenied(work, { hooks, over: "new" }, signal)))) {
    await prove(work, hooks, signal);
  }
  const sharing = users.map(sharingOf).find((why) => why !== undefined);
  return { sharing, settled: objects.map(({ object }) => object) };
}

async function readLiveGuards(
  { client, hubId, crds, isFresh }: EstablishWork,
  signal: AbortSignal,
): Promise<readonly LiveGuard[]> {
  const guards = guardsOf({ crds });
  if (isFresh) return guards.map((guard) => ({ guard, policy: undefined, binding: undefined }));
  return withServedCheck(client, signal, () => readGuards(client, { guards, hubId }, signal));
}

/** Throws `Unproven` where requests about policies fail because the cluster does not serve them. */
async function withServedCheck<T>(
  client: KubeClient,
  signal: AbortSignal,
  request: () => Promise<T>,
): Promise<T> {
  try {
    return await request();
  } catch (error) {
    const mayBeUnserved = error instanceof ApiError && [403, 404].includes(error.status);
    if (!mayBeUnserved || (await servesPolicies(client, signal))) throw error;
    throw new Unproven("NotSupported", "the cluster does not serve them");
  }
}

/** Compares with the clock of the cluster, `nowMs`. */
function isSettled(objects: readonly SettledObject[], nowMs: number | undefined): boolean {
  if (nowMs === undefined) return false;
  return objects.every(
    ({ object, before }) => before === "equal" && nowMs - lastChangeOf(object) >= settledMs,
  );
}

function lastChangeOf({ metadata }: KubeObject): number {
  const { creationTimestamp = "", managedFields = [] } = metadata;
  const times = [creationTimestamp, ...managedFields.map(({ time = "" }) => time)];
  return Math.max(...times.filter((time) => time !== "").map((time) => Date.parse(time)));
}

async function isDenied(
  { prober }: Pick<EstablishWork, "prober">,
  { hooks, over }: { readonly hooks: EstablishHooks; readonly over: ProbeConnection },
  signal: AbortSignal,
): Promise<boolean> {
  const namespace = hooks.namespace();
  if (namespace === undefined) return false;
  const verdicts = await prober.probeCreations(namespace, over, signal);
  return verdicts.every((verdict) => verdict === "denied");
}

async function prove(
  work: EstablishWork,
  hooks: EstablishHooks,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = work;
  const rounds = new ProbeRounds();
  const beganAt = clock.now();
  await delay(clock, policyReloadMs, signal);
  for (;;) {
    const sentAt = clock.now();
    const denied = await isDenied(work, { hooks, over: "new" }, signal);
    rounds.note(denied, { sentAt, answeredAt: clock.now() });
    if (rounds.areEnough) return;
    if (denied) await delay(clock, rounds.waitMs(clock.now()), signal);
    else await probeUntilDenied({ ...work, beganAt }, hooks, signal);
  }
}

/** Probes over the usual connection, because a new one for each probe would be too many. */
async function probeUntilDenied(
  { clock, beganAt, ...work }: EstablishWork & { readonly beganAt: number },
  hooks: EstablishHooks,
  signal: AbortSignal,
): Promise<void> {
  do {
    if (clock.now() - beganAt > limitMs) {
      const message = `The API server did not refuse an anchor of nobody for ${limitMs / 1_000} s`;
      throw new Unproven("NotEnforced", message);
    }
    await delay(clock, probePauseMs, signal);
  } while (!(await isDenied(work, { hooks, over: "usual" }, signal)));
}
