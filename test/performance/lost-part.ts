import { setTimeout as delay } from "node:timers/promises";

import { condition, create, gone, ready, remove } from "../e2e/installation.ts";
import { startFaultProxy } from "../faults/fault-proxy.ts";
import type { Answer } from "../faults/fault.ts";
import { WriteLog } from "../faults/write-log.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { seconds, tableOf } from "./figures.ts";
import type { Goal } from "./goals.ts";
import type { Subject, Workbench } from "./workbench.ts";

/** What a component says of a spoke that is lost and comes back. */
export interface LostSpoke {
  /** How the spoke was lost. */
  readonly how: string;
  /** From the loss to `Ready` Unknown. */
  readonly noticedMs: number;
  /** From the return to `Ready` True. */
  readonly recoveredMs: number;
}

interface Loss {
  readonly how: string;
  /** Loses the spoke, and resolves with what brings it back. */
  readonly lose: (spoke: Cluster) => Promise<Restore> | Restore;
}

type Restore = () => Promise<unknown> | void;

const noticedLimitMs = 30_000;
const settledMs = 5_000;
const badGateway: Answer = {
  kind: "answer",
  status: 502,
  headers: { "content-type": "text/html" },
  body: "<h1>502 Bad Gateway</h1>",
};

const losses: readonly Loss[] = [
  {
    how: "its API server is frozen",
    lose: (spoke) => {
      spoke.pause();
      return () => spoke.resume();
    },
  },
  {
    how: "its API server is killed",
    lose: async (spoke) => {
      await spoke.stop("SIGKILL");
      return () => spoke.start();
    },
  },
  {
    how: "its etcd is frozen",
    lose: ({ pids: [etcd] }) => {
      if (etcd === undefined) throw new Error("The spoke has no etcd");
      process.kill(etcd, "SIGSTOP");
      return () => void process.kill(etcd, "SIGCONT");
    },
  },
  {
    how: "the network swallows everything",
    lose: async ({ proxy }) => {
      await proxy.setMode("blackhole");
      return () => proxy.setMode("open");
    },
  },
];

/** Installs Eventing, loses its spoke in one way after the other, waits each time until that is said, and brings it back. */
export async function measureLostSpoke(
  { fleet: { hub }, subjects }: Workbench,
  say: (line: string) => void,
): Promise<readonly LostSpoke[]> {
  const [subject] = subjects;
  if (subject === undefined) throw new Error("There is nothing to install");
  const { kind, profile } = subject;
  say("Lost spoke: installing Eventing");
  await create(hub, { kind, on: profile });
  await ready(hub, kind);
  const found: LostSpoke[] = [];
  for (const loss of losses) {
    say(`Lost spoke: ${loss.how}`);
    found.push(await lost(hub, subject, loss));
  }
  say("Lost spoke: a load balancer answers 502 in its place");
  found.push(await lostBehindBalancer(hub, subject));
  await remove(hub, kind);
  await gone(hub, kind);
  return found;
}

async function lost(
  hub: Cluster,
  { kind, spoke }: Pick<Subject, "kind" | "spoke">,
  { how, lose }: Loss,
): Promise<LostSpoke> {
  const lostAt = performance.now();
  const restore = await lose(spoke);
  let noticedMs: number;
  let backAt: number;
  try {
    await condition(hub, kind, ["Ready", { status: "Unknown" }, 120_000]);
    noticedMs = performance.now() - lostAt;
  } finally {
    await restore();
    backAt = performance.now();
  }
  await ready(hub, kind, 180_000);
  return { how, noticedMs, recoveredMs: performance.now() - backAt };
}

/** The way to the spoke leads through a proxy that speaks HTTP, and begins to answer 502 to everything. */
async function lostBehindBalancer(
  hub: Cluster,
  { kind, spoke, profile }: Subject,
): Promise<LostSpoke> {
  const { name: cluster, server, caPem } = spoke;
  await using balancer = await startFaultProxy({ cluster, server, caPem, log: new WriteLog() });
  const authority = Buffer.from(balancer.caPem, "utf8").toString("base64");
  await profile.update({
    via: balancer.url,
    cluster: { "certificate-authority-data": authority },
  });
  const isFollowed = (): boolean => balancer.requests.some(({ isWatch }) => isWatch);
  await waitFor("the spoke to be followed through the load balancer", isFollowed);
  // Until everything is listed anew.
  await delay(settledMs);
  await ready(hub, kind);
  const found = await lost(
    hub,
    { kind, spoke },
    {
      how: "a load balancer answers 502 in its place",
      lose: () => {
        const rule = balancer.inject(() => badGateway);
        balancer.cut();
        return () => rule[Symbol.dispose]();
      },
    },
  );
  await profile.update({ via: "proxy", cluster: {} });
  return found;
}

/** The losses, and how soon each was noticed. */
export function lostSpokeReport(found: readonly LostSpoke[]): string {
  return [
    "Time from the loss of a spoke to Ready Unknown, and from its return to Ready True",
    tableOf(
      ["Loss", "Noticed", "Recovered"],
      found.map(({ how, noticedMs, recoveredMs }) => [
        how,
        seconds(noticedMs),
        seconds(recoveredMs),
      ]),
    ),
  ].join("\n");
}

/** How long a spoke may be lost unseen. */
export function lostSpokeGoals(found: readonly LostSpoke[]): readonly Goal[] {
  return [
    {
      text: `Lost spoke: loss to Ready Unknown, the latest of ${found.length} kinds`,
      value: Math.max(...found.map(({ noticedMs }) => noticedMs)),
      limit: noticedLimitMs,
      show: seconds,
    },
  ];
}
