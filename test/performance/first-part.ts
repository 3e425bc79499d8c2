import { setTimeout as delay } from "node:timers/promises";

import { buildDist, type DistFolder } from "../build/dist-folder.ts";
import { condition, create, gone, read, ready, remove } from "../e2e/installation.ts";
import { releaseDir } from "../e2e/release-dir.ts";
import type { AuditedRequest } from "../fleet/audit-log.ts";
import { type Cluster, type Fleet, type Profile, startFleet } from "../fleet/fleet.ts";
import { conditionOf } from "../fleet/json-record.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";
import type { FoundFiles } from "../support/found-releases.ts";
import { medianOf, seconds, tableOf } from "./figures.ts";
import type { Goal } from "./goals.ts";
import { wipe } from "./wipe.ts";
import { manifestsOf } from "./workbench.ts";

/** One installation of Eventing, from the creation of the component on the hub to a connection that is not open yet. */
interface FirstRun {
  /** To the answer of the write that applied the last object. */
  readonly appliedMs: number;
  /** Until `TargetClusterResolved=True` was read on the hub. */
  readonly resolvedMs: number;
  /** All to the spoke, watches included, until the guard was proven where there is one. */
  readonly requests: number;
  readonly connections: number;
}

/** Medians at one round-trip time. */
export interface FirstOnSpoke {
  readonly rttMs: number;
  readonly runs: number;
  /** With `--anchor-protection None`. */
  readonly unguarded: FirstRun;
  /** The first component on a spoke without policies. */
  readonly first: FirstRun;
  /** The same beside a Serving that was there before, with the guard of that. */
  readonly second: FirstRun;
}

interface Stage {
  readonly fleet: Fleet;
  readonly spoke: Cluster;
  readonly profile: Profile;
  readonly dist: DistFolder;
}

const kind = "KnativeEventing";
const userAgent = "knfleet-controller";
/** What the upstream operator needs on such a fleet until all is applied, in ms, and how much faster this is to be. */
const upstream: ReadonlyMap<number, readonly [ms: number, times: number]> = new Map([
  [0, [15_400, 10]],
  [50, [21_300, 12]],
  [200, [74_000, 27]],
]);

/** Installs Eventing on one spoke in three ways in turn, each time with a controller that was just started and on a spoke that was wiped. */
export async function measureFirst(
  { runs, rtts }: { readonly runs: number; readonly rtts: readonly number[] },
  say: (line: string) => void,
): Promise<readonly FirstOnSpoke[]> {
  await using fleet = await startFleet({ spokes: 1, log: say });
  await using dist = await buildDist();
  const spoke = fleet.spoke(0);
  const profile = await fleet.addProfile(spoke, { plugin: "kubeconfig-secretreader" });
  const stage = { fleet, spoke, profile, dist };
  const results: FirstOnSpoke[] = [];
  for (const rttMs of rtts) {
    const all: Record<"unguarded" | "first" | "second", FirstRun[]> = {
      unguarded: [],
      first: [],
      second: [],
    };
    for (let run = 1; run <= runs; run += 1) {
      say(`First component on a spoke, RTT ${rttMs} ms, run ${run} of ${runs}`);
      all.unguarded.push(await measured(stage, { rttMs, protection: "None" }));
      all.first.push(await measured(stage, { rttMs, protection: "Auto" }));
      all.second.push(await measured(stage, { rttMs, protection: "Auto", isSecond: true }));
    }
    const unguarded = middleOf(all.unguarded);
    results.push({
      rttMs,
      runs,
      unguarded,
      first: middleOf(all.first),
      second: middleOf(all.second),
    });
  }
  return results;
}

interface Way {
  readonly rttMs: number;
  readonly protection: "Auto" | "None";
  readonly isSecond?: boolean;
}

async function measured(
  stage: Stage,
  { rttMs, protection, isSecond = false }: Way,
): Promise<FirstRun> {
  const { fleet, spoke, profile } = stage;
  const { hub } = fleet;
  await using controller = await start(stage, protection);
  const isGuarded = protection !== "None";
  if (isSecond) await installed(hub, "KnativeServing", profile);
  spoke.proxy.setRtt(rttMs);
  spoke.proxy.resetCounts();
  const since = new Date();
  await create(hub, { kind, on: profile });
  const resolvedAt = await resolved(hub);
  await ready(hub, kind, 180_000);
  if (isGuarded) await proven(hub, kind);
  const { connections } = spoke.proxy.counts;
  // What a write did can be seen before its answer is sent, and logged.
  await delay(500);
  const [created] = await hub.auditLog.requests({
    resource: "knativeeventings",
    verb: "create",
    since,
  });
  const createdAt = created?.receivedAt.getTime() ?? NaN;
  const requests = await spoke.auditLog.requests({ userAgent, since });
  const appliedAt = Math.max(...requests.filter(isApply).map((one) => one.answeredAt.getTime()));
  spoke.proxy.setRtt(0);
  await cleared(stage, isSecond ? [kind, "KnativeServing"] : [kind]);
  await controller.stop();
  return {
    appliedMs: appliedAt - createdAt,
    resolvedMs: resolvedAt - createdAt,
    requests: isGuarded && !isSecond ? untilProven(requests).length : requests.length,
    connections,
  };
}

/** Without the watches of the policies, which begin then and go on. */
function untilProven(requests: readonly AuditedRequest[]): readonly AuditedRequest[] {
  const provenAt = Math.max(...requests.filter(isProbe).map((one) => one.receivedAt.getTime()));
  return requests.filter((one) => one.receivedAt.getTime() <= provenAt);
}

function isProbe({ uri }: AuditedRequest): boolean {
  return uri.includes("dryRun=All");
}

function start({ fleet, dist }: Stage, protection: string): Promise<ControllerProcess> {
  return Promise.all([fleet.controllerKubeconfig(), fleet.providerFile(), releaseDir()]).then(
    ([kubeconfig, providerFile, dir]) =>
      startControllerProcess({
        program: dist.path("knfleet-controller.js"),
        kubeconfig,
        providerFile,
        releaseDir: dir,
        flags: [`--anchor-protection=${protection}`],
      }),
  );
}

type Kind = "KnativeEventing" | "KnativeServing";

async function installed(hub: Cluster, other: Kind, on: Profile): Promise<void> {
  await create(hub, { kind: other, on });
  await ready(hub, other, 180_000);
  await proven(hub, other);
}

async function proven(hub: Cluster, of: Kind): Promise<void> {
  await condition(hub, of, ["AnchorProtected", { status: "True" }, 60_000]);
}

/** When somebody who looks all the time sees that the cluster is resolved. */
async function resolved(hub: Cluster): Promise<number> {
  const end = Date.now() + 60_000;
  while (Date.now() < end) {
    const said = conditionOf(await read(hub, kind), "TargetClusterResolved");
    if (said?.status === "True") return Date.now();
    await delay(10);
  }
  throw new Error("The cluster is not resolved after a minute");
}

async function cleared({ fleet, spoke }: Stage, kinds: readonly Kind[]): Promise<void> {
  const dir = await releaseDir();
  for (const one of kinds) {
    await remove(fleet.hub, one);
    await gone(fleet.hub, one, 180_000);
    await wipe(spoke, await manifestsOf(one, dir));
  }
}

function isApply({ verb, name, code }: AuditedRequest): boolean {
  return verb === "patch" && code < 300 && !name.endsWith("-root-owner");
}

function middleOf(runs: readonly FirstRun[]): FirstRun {
  const middle = (of: (run: FirstRun) => number): number => medianOf(runs.map(of));
  return {
    appliedMs: middle((run) => run.appliedMs),
    resolvedMs: middle((run) => run.resolvedMs),
    requests: middle((run) => run.requests),
    connections: middle((run) => run.connections),
  };
}

/** A row for each way to install. */
export function firstReport(results: readonly FirstOnSpoke[]): string {
  const rows = results.flatMap(({ rttMs, unguarded, first, second }) =>
    [
      { what: "first, --anchor-protection None", run: unguarded },
      { what: "first", run: first },
      { what: "second, the guard is there", run: second },
    ].map(({ what, run }) => [
      what,
      `${rttMs} ms`,
      seconds(run.appliedMs),
      (run.appliedMs / unguarded.appliedMs).toFixed(3),
      seconds(run.resolvedMs),
      String(run.requests),
      String(run.connections),
    ]),
  );
  const columns = ["Component", "RTT", "Applied", "Ratio", "Resolved", "Requests", "Connections"];
  return [
    "Eventing 1.23 as a component of a fresh spoke, from its creation (median); requests with watches, until the guard is proven",
    tableOf(columns, rows),
  ].join("\n");
}

/** What the guard may cost, and with Knative's own release files the comparison with upstream. */
export function firstGoals(
  results: readonly FirstOnSpoke[],
  releases: Pick<FoundFiles, "isKnative"> | null,
): readonly Goal[] {
  return results.flatMap(({ rttMs, unguarded, first }) => {
    const of = `First component on a spoke, RTT ${rttMs} ms:`;
    const against = releases?.isKnative === true ? upstream.get(rttMs) : undefined;
    return [
      {
        text: `${of} time against no protection`,
        value: first.appliedMs / unguarded.appliedMs,
        limit: 1.15,
        show: perThousandth,
      },
      {
        text: `${of} requests against no protection`,
        value: first.requests / unguarded.requests,
        limit: 1.1,
        show: perThousandth,
      },
      { text: `${of} connections`, value: first.connections, limit: 8 },
      {
        text: `${of} creation to TargetClusterResolved=True`,
        value: first.resolvedMs,
        limit: 500,
        show: seconds,
      },
      ...(against === undefined
        ? []
        : [
            {
              text: `${of} a ${against[1]}th of upstream's ${seconds(against[0])}`,
              value: first.appliedMs,
              limit: against[0] / against[1],
              show: seconds,
            },
          ]),
    ];
  });
}

function perThousandth(value: number): string {
  return value.toFixed(3);
}
