import type { KubeClient } from "../../access/kube-client.ts";
import { listAt, recordAt, textAt } from "../../api/fields.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { type Clock, delay } from "../clock.ts";
import type { Log } from "../log.ts";
import { guardsOf, readGuards, settlePolicies, type SettledObject } from "./policy-objects.ts";
import { ProbeWindow } from "./probe.ts";
import type { Prober } from "./prober.ts";
import { type ClusterUser, sharingOf } from "./protection.ts";
import { servesPolicies, whoAmI } from "./whoami.ts";

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
  readonly clock: Clock;
  readonly log: Log;
  readonly prober: Pick<Prober, "creations">;
}

export interface EstablishHooks {
  /** Namespace in which an anchor is probed; it may be created in the meantime. */
  readonly namespace: () => string | undefined;
  /** The users that a live policy has to know, now that it is looked after as one of them. */
  readonly onUser: (policy: KubeObject, user: ClusterUser) => readonly ClusterUser[];
  /** The policies are there as they should be, which proves nothing yet. */
  readonly onSettled: (objects: readonly SettledObject[]) => void;
}

const policyResource = knownResource(
  "admissionregistration.k8s.io/v1",
  "ValidatingAdmissionPolicy",
);
/** Rounds of probes on the way at the same time, so that a far cluster is proven as fast as a near one. */
const maxOpen = 5;
const limitMs = 30_000;
/** What has not been changed for so long has been read by every API server. */
const settledMs = 60_000;

/**
 * Installs the guards on a cluster and proves that its API servers enforce them. Resolves with what speaks against a user of the controller being
 * its alone. Throws `Unproven`, ApiError (403: no right to policies) or the error of the connection. Spec: anchor-guard.md 6.1, 6.2.
 */
export async function establish(
  work: EstablishWork,
  hooks: EstablishHooks,
  signal: AbortSignal,
): Promise<{ readonly sharing: string | undefined }> {
  const { client, hubId, crds } = work;
  const reading = readGuards(client, { guards: guardsOf({ crds }), hubId }, signal);
  // Awaited below, when the cluster serves policies at all.
  reading.catch(() => undefined);
  const [user, isServed] = await Promise.all([
    whoAmI(client, signal),
    servesPolicies(client, signal),
  ]);
  if (!isServed) throw new Unproven("NotSupported", "the cluster does not serve them");
  let users: readonly ClusterUser[] = [user];
  const usersOf = (policy: KubeObject | undefined) => {
    if (policy === undefined) return [user.username];
    users = hooks.onUser(policy, user);
    return users.map(({ username }) => username);
  };
  const objects = await settlePolicies({ ...work, usersOf, live: await reading }, signal);
  hooks.onSettled(objects);
  const isOld = isSettled(objects, user.serverTimeMs);
  if (!(isOld && (await isDenied(work, hooks, signal)))) {
    const telling = isOld ? undefined : tellWarnings(objects, work, signal);
    await proven(work, hooks, signal);
    await telling;
  }
  return { sharing: users.map(sharingOf).find((why) => why !== undefined) };
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
  { namespace }: EstablishHooks,
  signal: AbortSignal,
): Promise<boolean> {
  const place = namespace();
  if (place === undefined) return false;
  const verdicts = await prober.creations(place, signal);
  return verdicts.every((verdict) => verdict === "denied");
}

async function proven(
  work: EstablishWork,
  hooks: EstablishHooks,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = work;
  const window = new ProbeWindow();
  const open = new Set<Promise<void>>();
  const beganAt = clock.now();
  for (;;) {
    // What is on the way may still speak against it.
    if (window.isEnforced) await Promise.all(open);
    if (window.isEnforced) return;
    // Denials that have begun may last longer: each of them takes its time on a slow cluster.
    if (!window.hasBegun && clock.now() - beganAt > limitMs) {
      const message = `The API server did not refuse an anchor of nobody for ${limitMs / 1_000} s`;
      throw new Unproven("NotEnforced", message);
    }
    const sentAt = clock.now();
    const round = isDenied(work, hooks, signal)
      .then((denied) => window.note(denied, { sentAt, answeredAt: clock.now() }))
      // Only an aborted one fails, which ends the pause, too.
      .catch(() => undefined)
      .finally(() => open.delete(round));
    open.add(round);
    if (open.size >= maxOpen) await Promise.race(open);
    await delay(clock, Math.max(0, sentAt + window.paceAfter(sentAt) - clock.now()), signal);
  }
}

/** The type checker of the cluster takes a moment. */
const checkedMs = 2_000;

/** What the type checker of the cluster says, which looks at a part of a policy only, is for people. Never rejects. */
async function tellWarnings(
  objects: readonly SettledObject[],
  { client, clock, log }: EstablishWork,
  signal: AbortSignal,
): Promise<void> {
  try {
    await delay(clock, checkedMs, signal);
    const policies = objects.filter(({ object }) => object.kind === policyResource.kind);
    await Promise.all(
      policies.map(async ({ object: { metadata } }) => {
        const { name } = metadata;
        const live = await client.get({ resource: policyResource, name }, {}, signal);
        const checking = recordAt(live, "status", "typeChecking");
        for (const warning of listAt(checking, "expressionWarnings")) {
          const text = textAt(recordAt(warning), "warning");
          log.warn(
            { policy: name, warning: text },
            "The cluster's type checker warns about a guard",
          );
        }
      }),
    );
  } catch (err) {
    log.debug({ err }, "The type checker's warnings could not be read");
  }
}
