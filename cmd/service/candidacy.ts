import type { Silence } from "../../access/http/liveness.ts";
import type { MayWrite } from "../../access/http/write-permit.ts";
import { connectHub, type HubOptions } from "../../access/hub/hub.ts";
import type { ControllerDeps } from "../../controller/controller.ts";
import { lead, type Leadership, soleLeadership } from "../../controller/leader/leader.ts";
import type { WorkConnection } from "../../controller/leader/lease-echo.ts";
import type { Log } from "../../controller/log.ts";
import { systemClock } from "../../controller/queue/clock.ts";
import type { ControllerFlags } from "./flags.ts";
import { podNamespace } from "./pod-namespace.ts";

export interface CandidacyOptions {
  readonly hub: HubOptions;
  /** Tells this process from all others that may hold the Lease. */
  readonly identity: string;
  readonly log: Log;
}

/** How this process comes to lead, and whether it does. */
export interface Candidacy extends AsyncDisposable {
  /** Over these connections it works while it leads. */
  lead(working: readonly WorkConnection[]): ControllerDeps["lead"];
  /** False until it leads, and from the moment at which that is not certain any more. Absent: it is the only one. */
  readonly permit: { readonly mayWrite?: MayWrite };
}

const leaseName = "knfleet-controller";

/** 3 to 4 s: a connection that died without a word must leave time to renew the Lease over another one. */
const silence: Silence = { everyMs: 1_000, limit: 3 };

/** Stands for the Lease over a connection of its own: a renewal must not wait behind hundreds of other requests. */
export async function standForLease(
  flags: ControllerFlags,
  { hub, identity, log }: CandidacyOptions,
): Promise<Candidacy> {
  const connection = await connectHub({ ...hub, silence });
  const namespace = flags.leaderElectionNamespace ?? (await podNamespace(hub.environment));
  const { client } = connection;
  const reconnect = (): void => connection.reconnect();
  const lease = { client, reconnect, namespace, name: leaseName, identity };
  let leader: Leadership | undefined;
  return {
    lead: (working) => async (circumstances, signal) => {
      const options = { ...lease, ...circumstances, working, clock: systemClock, log };
      leader = isAlone(flags) ? soleLeadership() : await lead(options, signal);
      return leader;
    },
    permit: isAlone(flags) ? {} : { mayWrite: () => leader?.mayWrite() === true },
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  };
}

function isAlone({ disableHa, leaderElection }: ControllerFlags): boolean {
  return disableHa || !leaderElection;
}
