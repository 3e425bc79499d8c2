import type { KubeClient } from "../../access/kube-client.ts";
import { listAt, recordAt, textAt } from "../../api/fields.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { type Clock, delay } from "../clock.ts";
import type { Log } from "../log.ts";
import { guardsOf, settlePolicies, type SettledObject } from "./policy-objects.ts";
import { ProbeWindow } from "./probe.ts";
import type { Prober } from "./prober.ts";
import { sharingOf } from "./protection.ts";
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
  /** The policies are there as they should be, which proves nothing yet. */
  readonly onSettled: (objects: readonly SettledObject[]) => void;
}

const paceMs = 250;
const limitMs = 30_000;
/** What has not been changed for so long has been read by every API server. */
const settledMs = 60_000;

/**
 * Installs the guards on a cluster and proves that its API servers enforce them. Resolves with what speaks against the controller's user being
 * its alone. Throws `Unproven`, ApiError (403: no right to policies) or the error of the connection. Spec: anchor-guard.md 6.1, 6.2.
 */
export async function establish(
  work: EstablishWork,
  hooks: EstablishHooks,
  signal: AbortSignal,
): Promise<{ readonly sharing: string | undefined }> {
  const { client, hubId, crds } = work;
  const [user, isServed] = await Promise.all([
    whoAmI(client, signal),
    servesPolicies(client, signal),
  ]);
  if (!isServed) throw new Unproven("NotSupported", "the cluster does not serve them");
  const owner = { hubId, hubUser: user.username };
  const objects = await settlePolicies({ ...work, guards: guardsOf({ crds }), owner }, signal);
  hooks.onSettled(objects);
  const isOld = isSettled(objects, user.serverTimeMs);
  if (!(isOld && (await isDenied(work, hooks, signal)))) {
    await proven(work, hooks, signal);
    if (!isOld) await tellWarnings(objects, work, signal);
  }
  return { sharing: sharingOf(user) };
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
  const beganAt = clock.now();
  for (;;) {
    if (clock.now() - beganAt > limitMs) {
      const message = `The API server did not refuse an anchor of nobody for ${limitMs / 1_000} s`;
      throw new Unproven("NotEnforced", message);
    }
    const sentAt = clock.now();
    const denied = await isDenied(work, hooks, signal);
    window.note(denied, { sentAt, answeredAt: clock.now() });
    if (window.isEnforced) return;
    await delay(clock, Math.max(0, sentAt + paceMs - clock.now()), signal);
  }
}

/** The type checker of the cluster looks at a part of a policy only; what it says is for people. */
async function tellWarnings(
  objects: readonly SettledObject[],
  { client, log }: EstablishWork,
  signal: AbortSignal,
): Promise<void> {
  for (const { object } of objects) {
    if (object.kind !== "ValidatingAdmissionPolicy") continue;
    const { name } = object.metadata;
    const resource = {
      apiVersion: object.apiVersion,
      kind: object.kind,
      plural: "validatingadmissionpolicies",
      namespaced: false,
    };
    const live = await client.get({ resource, name }, {}, signal);
    const checking = recordAt(live, "status", "typeChecking");
    for (const warning of listAt(checking, "expressionWarnings")) {
      const text = textAt(recordAt(warning), "warning");
      log.warn({ policy: name, warning: text }, "The cluster's type checker warns about a guard");
    }
  }
}
