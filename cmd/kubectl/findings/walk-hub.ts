import { ApiError, unlessDenied } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { operatorApiVersion } from "../../../api/component.ts";
import { timestampOf } from "../../../api/conditions.ts";
import { knownResource } from "../../../api/resources.ts";
import { whoAmI } from "../../../controller/guard/whoami.ts";
import type { Controllers } from "../hub/find-controller.ts";
import { humanDuration } from "../output/duration.ts";
import { readKubernetesVersion } from "../spokes/kubernetes-version.ts";
import { hubServer, requestFinding } from "./explain-error.ts";
import { findController } from "./hops/controller-hop.ts";
import {
  failed,
  finding,
  type Finding,
  type Hop,
  type HopResult,
  passed,
  passedWith,
} from "./hops/hop.ts";
import { checkWebhooks } from "./hops/webhook-hop.ts";
import { type StepValue, Walk, type WalkContext } from "./walk.ts";

/** The steps on the hub, which all targets of a command share. */
export interface HubWalk {
  readonly hops: readonly Hop[];
  readonly facts: StepValue<HubFacts>;
  readonly kinds: StepValue<true>;
  readonly controllers: StepValue<Controllers>;
}

/** Walks to the hub and finds the controllers of its components. Returns the steps taken so far when the signal aborts. */
export async function walkHub(context: WalkContext, signal: AbortSignal): Promise<HubWalk> {
  const { hubTimeoutMs } = context;
  const walk = new Walk({
    timeoutMsOf: () => hubTimeoutMs,
    signal,
    explain: (_, error) => requestFinding(error, hubServer),
  });
  try {
    return { ...(await takeHubSteps(walk, context)), hops: walk.hops };
  } catch (error) {
    if (!signal.aborted) throw error;
    const unknown = { ok: false, because: "hub" } as const;
    return { hops: walk.hops, facts: unknown, kinds: unknown, controllers: unknown };
  }
}

async function takeHubSteps(walk: Walk, { hub, now }: WalkContext): Promise<Omit<HubWalk, "hops">> {
  const facts = await walk.take("hub", [], (_, late) => reachHub(hub, now, late));
  const kinds = await walk.take("kinds", [facts], (_, late) => checkKinds(hub, late));
  const controllers = await walk.take("controller", [facts], ([known], late) =>
    findController(hub, known.timeMs, late),
  );
  await walk.take("webhook", [facts], (_, late) => checkWebhooks(hub, late));
  return { facts, kinds, controllers };
}

/** Our user on the hub, and the time there. */
interface HubFacts {
  readonly user: string;
  /** The hub's clock, ms since 1970; ours when it does not say. */
  readonly timeMs: number;
  /** Uid of `kube-system`, which tells this hub from others; undefined when we may not read it. */
  readonly id: string | undefined;
}

/** Asks the hub for our user and its time. */
async function reachHub(
  hub: KubeClient,
  now: () => Date,
  signal: AbortSignal,
): Promise<HopResult<HubFacts>> {
  const who = await unlessDenied(whoAmI(hub, signal));
  // An identity that may not ask for its user is still authenticated.
  if (who === undefined) await readKubernetesVersion(hub, signal);
  const ref = { resource: knownResource("v1", "Namespace"), name: "kube-system" };
  const system = await unlessDenied(hub.get(ref, { metadataOnly: true }, signal));
  const user = who?.username ?? "(not known)";
  const timeMs = who?.serverTimeMs ?? now().getTime();
  return passedWith({ user, timeMs, id: system?.metadata.uid }, `${hub.server} as ${user}`, {
    findings: clockFindings(now().getTime(), timeMs),
  });
}

// The hub tells whole seconds, and its answer takes time.
const clockGraceMs = 120_000;

/** Warns when the clock of this machine, which judges credentials and certificates, is not that of the hub. */
function clockFindings(hereMs: number, thereMs: number): readonly Finding[] {
  const aheadMs = hereMs - thereMs;
  if (Math.abs(aheadMs) <= clockGraceMs) return [];
  const span = humanDuration(Math.abs(aheadMs));
  return [
    finding("warning", "KNF1021", {
      message: `The clock of this machine is ${span} ${aheadMs > 0 ? "ahead of" : "behind"} the hub's`,
      evidence: [
        `here it is ${timestampOf(new Date(hereMs))}`,
        `there it is ${timestampOf(new Date(thereMs))}`,
      ],
    }),
  ];
}

/** Checks whether the hub serves the kinds of components. */
async function checkKinds(hub: KubeClient, signal: AbortSignal): Promise<HopResult<true>> {
  const path = `/apis/${operatorApiVersion}`;
  try {
    await hub.request("GET", path, undefined, signal);
    return passed(true, `${operatorApiVersion} is served`);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    return failed("KNF1004", `The hub does not serve ${operatorApiVersion}`, {
      evidence: [`the hub that was asked is ${hub.server}`],
      next: [
        "Choose the hub with --context, one of these:",
        "kubectl config get-contexts",
        "Or, if it is the hub, install the CRDs of the chart; docs/install.md says how.",
      ],
    });
  }
}
