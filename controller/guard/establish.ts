import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { type Clock, delay } from "../queue/clock.ts";
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

/** The guard does not protect, for a reason that is known. */
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
  /** Who the controller is there. */
  readonly self: Promise<SelfReview>;
  /** Policies of ours are probably not there yet: they are looked at only where they cannot be created. */
  readonly isFresh: boolean;
  readonly clock: Clock;
  readonly prober: Pick<Prober, "creations">;
}

export interface EstablishHooks {
  /** Namespace in which an anchor is probed; it may be created in the meantime. */
  readonly namespace: () => string | undefined;
  /** The users that a live policy has to know, now that it is looked after as one of them. */
  readonly onUser: (policy: KubeObject, user: ClusterUser) => readonly ClusterUser[];
  /** Called right after the first requests about policies were sent. */
  readonly onSent: () => void;
  /** The policies are there as they should be, which proves nothing yet. */
  readonly onSettled: (objects: readonly SettledObject[]) => void;
}

const limitMs = 30_000;
/** An API server reads policies anew about every second: what is asked before is answered by chance. */
const readAnewMs = 1_500;
const untilDeniedMs = 500;
/** What has not been changed for so long has been read by every API server. */
const settledMs = 60_000;

/**
 * Installs the guards on a cluster and proves that its API servers enforce them. Resolves with the policies as they are, and with what speaks against
 * a user of the controller being its alone. Throws `Unproven`, ApiError (403: no right to policies) or the error of the connection. Spec: anchor-guard.md 6.1, 6.2.
 */
export async function establish(
  work: EstablishWork,
  hooks: EstablishHooks,
  signal: AbortSignal,
): Promise<{ readonly sharing: string | undefined; readonly settled: readonly KubeObject[] }> {
  const { client } = work;
  const [user, live] = await Promise.all([work.self, liveGuards(work, signal)]);
  let users: readonly ClusterUser[] = [user];
  const usersOf = (policy: KubeObject | undefined) => {
    if (policy === undefined) return [user.username];
    users = hooks.onUser(policy, user);
    return users.map(({ username }) => username);
  };
  const settling = served(client, signal, () => settlePolicies({ ...work, usersOf, live }, signal));
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

async function liveGuards(
  { client, hubId, crds, isFresh }: EstablishWork,
  signal: AbortSignal,
): Promise<readonly LiveGuard[]> {
  const guards = guardsOf({ crds });
  if (isFresh) return guards.map((guard) => ({ guard, policy: undefined, binding: undefined }));
  return served(client, signal, () => readGuards(client, { guards, hubId }, signal));
}

/** What fails may be so because the cluster knows no policies. */
async function served<T>(
  client: KubeClient,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const mayBeUnknown = error instanceof ApiError && [403, 404].includes(error.status);
    if (!mayBeUnknown || (await servesPolicies(client, signal))) throw error;
    throw new Unproven("NotSupported", "the cluster does not serve them");
  }
}

/** By the cluster's own clock. */
function isSettled(objects: readonly SettledObject[], now: number | undefined): boolean {
  if (now === undefined) return false;
  return objects.every(
    ({ object, before }) => before === "equal" && now - lastChangeOf(object) >= settledMs,
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
  const place = hooks.namespace();
  if (place === undefined) return false;
  const verdicts = await prober.creations(place, over, signal);
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
  await delay(clock, readAnewMs, signal);
  for (;;) {
    const sentAt = clock.now();
    const denied = await isDenied(work, { hooks, over: "new" }, signal);
    rounds.note(denied, { sentAt, answeredAt: clock.now() });
    if (rounds.areEnough) return;
    if (denied) await delay(clock, rounds.waitMs(clock.now()), signal);
    else await untilDenied({ ...work, beganAt }, hooks, signal);
  }
}

/** Asks over the usual connection: a new one for each question would be many. */
async function untilDenied(
  { clock, beganAt, ...work }: EstablishWork & { readonly beganAt: number },
  hooks: EstablishHooks,
  signal: AbortSignal,
): Promise<void> {
  do {
    if (clock.now() - beganAt > limitMs) {
      const message = `The API server did not refuse an anchor of nobody for ${limitMs / 1_000} s`;
      throw new Unproven("NotEnforced", message);
    }
    await delay(clock, untilDeniedMs, signal);
  } while (!(await isDenied(work, { hooks, over: "usual" }, signal)));
}
