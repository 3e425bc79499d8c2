import type { Silence } from "../../access/http/liveness.ts";
import type { WritePermit } from "../../access/http/permitted-requester.ts";
import type { MayWrite } from "../../access/http/write-permit.ts";
import { connectHub, type HubOptions } from "../../access/hub/hub.ts";
import type { ClusterProfileRef } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { nameId } from "../../api/keys.ts";
import { leaderLease, type Part, shardOf } from "../../api/shards.ts";
import type { ControllerDeps } from "../../controller/controller-deps.ts";
import {
  lead,
  type LeaderOptions,
  type Leadership,
  soleLeadership,
} from "../../controller/leader/leader.ts";
import type { WorkConnection } from "../../controller/leader/lease-echo.ts";
import { LeaseList } from "../../controller/leader/lease-list.ts";
import type { LeaseTimes } from "../../controller/leader/lease.ts";
import { joinReplicas, type SharingOptions } from "../../controller/leader/shards.ts";
import type { Log } from "../../controller/log.ts";
import { podNamespace } from "./flag-values.ts";
import type { ControllerFlags } from "./flags.ts";
import { leaseTimesOf } from "./lease-times.ts";

export interface CandidacyOptions {
  readonly hub: HubOptions;
  /** Unique for this process among all holders of the Lease. */
  readonly identity: string;
  readonly log: Log;
}

/** How this process becomes the leader, or takes its share of the fleet. */
export interface Candidacy extends AsyncDisposable {
  /** Returns the function that waits for the Lease. The leader works over these connections. */
  readonly lead: (workConnections: readonly WorkConnection[]) => ControllerDeps["lead"];
  /** Namespace of the Leases. */
  readonly namespace: string;
  readonly permits: Permits;
  /** The permit to write to the hub for a part, until the signal is aborted. */
  readonly permitFor: (part: Part, signal: AbortSignal) => WritePermit;
}

/** Every request that changes a cluster is sent only while this process holds the Lease for it. Empty: this process is the only replica. */
interface Permits {
  /** Whether no Lease was lost: the hub is written for several parts, and each of them has a permit of its own. */
  readonly hub: { readonly mayWrite?: MayWrite };
  readonly hubAsTarget: { readonly mayWrite?: MayWrite };
  readonly spokes: { readonly mayWrite?: (profile: ClusterProfileRef) => boolean };
  /** For the Jobs of checks, on clusters of all shards: whoever rolls sets out runs them. */
  readonly checks: { readonly mayWrite?: MayWrite };
}

/** After 3 to 4 tenths of the renew deadline a connection is dead, so that there is time to renew the Lease over another one. */
function silenceFor({ renewDeadlineMs }: LeaseTimes): Silence {
  return { everyMs: renewDeadlineMs / 10, limit: 3 };
}

/**
 * Opens a separate connection for the Leases: a renewal must not wait behind hundreds of other requests. Throws FleetError `ConfigInvalid` for several shards without
 * leader election, and for times of Leases that do not fit.
 */
export async function standForLease(
  flags: ControllerFlags,
  { hub, identity, log }: CandidacyOptions,
): Promise<Candidacy> {
  const { shards } = flags;
  if (isAlone(flags) && shards > 1) {
    const text = `--shards=${shards} needs leader election: replicas share the fleet by Leases`;
    throw new FleetError("ConfigInvalid", text);
  }
  const times = leaseTimesOf(flags);
  const connection = await connectHub({ ...hub, silence: silenceFor(times) });
  const namespace = flags.leaderElectionNamespace ?? (await podNamespace(hub.environment));
  const { client } = connection;
  const reconnect = (): void => connection.reconnect();
  const { clock } = hub;
  const common = { client, reconnect, namespace, identity, shards, times, clock, log };
  let leader: Leadership | undefined;
  const mayWrite = (part?: Part): boolean => leader?.mayWrite(part) === true;
  return {
    namespace,
    lead: (workConnections) => async (circumstances, signal) => {
      const all = shards > 1 ? [...workConnections, connection] : workConnections;
      const options = { ...common, ...circumstances, workConnections: all };
      leader = isAlone(flags) ? soleLeadership() : await takePart(options, signal);
      return leader;
    },
    permits: isAlone(flags)
      ? { hub: {}, hubAsTarget: {}, spokes: {}, checks: {} }
      : permitsOf(mayWrite, shards),
    permitFor: (part, signal) => ({ mayWrite: () => mayWrite(part), signal }),
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  };
}

function permitsOf(mayWrite: (part?: Part) => boolean, shards: number): Permits {
  const shardOfHub = shardOf("", shards);
  return {
    hub: { mayWrite: () => mayWrite() },
    hubAsTarget: { mayWrite: () => mayWrite(shardOfHub) },
    spokes: {
      mayWrite: (profile) => mayWrite(shardOf(nameId(profile), shards)),
    },
    checks: { mayWrite: () => mayWrite("fleet") },
  };
}

/** Becomes the leader, or joins the replicas that share the fleet. */
function takePart(
  options: Omit<LeaderOptions, "name"> & Omit<SharingOptions, "fleet">,
  signal: AbortSignal,
): Promise<Leadership> {
  if (options.shards > 1) return joinReplicas({ ...options, fleet: true }, signal);
  const list = new LeaseList(options);
  const doOthersWork = async (): Promise<boolean> => {
    await list.read(signal);
    return list.areOthersAtWork();
  };
  return lead({ ...options, name: leaderLease, doOthersWork }, signal);
}

function isAlone({ disableHa, leaderElection }: ControllerFlags): boolean {
  return disableHa || !leaderElection;
}
