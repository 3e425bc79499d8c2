import { setTimeout as delay } from "node:timers/promises";

import { create, gone, read, remove } from "../../e2e/installation.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { failure, firstN, type Seen } from "../fault.ts";
import type { FaultCase, Trial } from "../trial.ts";

/** What happens to the hub. */
export const hubCases: readonly FaultCase[] = [
  {
    id: "C6",
    fault:
      "the hub's API server is killed during an install, starts again, and does not let the component go at first",
    isQuick: true,
    async harm(trial) {
      const { hub, hubProxy } = trial.bench;
      await trial.create();
      await trial.writesToSpoke(10);
      await hub.stop("SIGKILL");
      hubProxy.resetCounts();
      await hub.start();
    },
    async afterwards(trial) {
      const lists = await listsAnswered(trial);
      trial.note(`${lists} collections of the hub listed anew`);
      // Two kinds of components, ClusterProfiles: once for each, and once more for one that came too early.
      if (lists > 6) throw new Error(`${lists} lists after one restart`);
      await removedInSpiteOfRefusal(trial);
    },
  },
  {
    id: "C7",
    fault: "the hub's etcd is frozen for 20 s during an install, with leader election",
    isQuick: false,
    mayEnd: true,
    controller: () => Promise.resolve({ leaderElection: true }),
    async harm(trial) {
      const { hub } = trial.bench;
      const [etcd] = hub.pids;
      if (etcd === undefined) throw new Error("The hub has no etcd");
      await trial.controller.logged({ msg: "Reconciling" }, 90_000);
      await trial.create();
      await trial.writesToSpoke(5);
      process.kill(etcd, "SIGSTOP");
      try {
        await delay(20_000);
      } finally {
        process.kill(etcd, "SIGCONT");
      }
    },
    async afterwards(trial) {
      trial.note(`${trial.restarts} restarts of the controller`);
    },
  },
  {
    id: "C14",
    fault: "a restarted controller is shown an older list, with a component that is gone by now",
    isQuick: false,
    async harm(trial) {
      const { hub, hubProxy, log } = trial.bench;
      const old = await recordedOldList(trial);
      await create(hub, { kind: "KnativeServing", on: trial.target.profile });
      await trial.ready();
      await trial.halt();
      log.restart();
      const headers = { "content-type": "application/json" };
      const stale = { kind: "answer", status: 200, headers, body: old, isOpen: true } as const;
      using _ = hubProxy.inject(firstN(1, stale, ({ path }) => isInitial(path)));
      hubProxy.resetCounts();
      await trial.resume();
      await waitFor("the stale list to be asked for", () =>
        hubProxy.requests.some(({ path }) => isInitial(path)),
      );
      // Without that list the controller is not ready, and it has no other.
      await trial.controller.ready();
      // Long enough to delete everything, if it were to be done.
      await delay(4_000);
      hubProxy.cut();
      const { name } = trial.target.spoke;
      const deletes = log.writes.filter((one) => one.method === "DELETE" && one.cluster === name);
      const named = deletes.filter(({ path }) => !path.includes("labelSelector="));
      trial.note(`${deletes.length} deletions by the old uid, ${named.length} by name`);
      if (named.length > 0) throw new Error(`Deleted ${named.map(({ path }) => path).join(", ")}`);
    },
  },
  {
    id: "C19",
    fault: "the hub is silent for longer than the renew deadline",
    isQuick: false,
    mayEnd: true,
    controller: () => Promise.resolve({ leaderElection: true }),
    async harm(trial) {
      const { line } = trial.bench.hubProxy;
      await trial.controller.logged({ msg: "Reconciling" }, 90_000);
      await trial.create();
      await trial.writesToSpoke(5);
      const first = trial.controller;
      await line.setMode("blackhole");
      try {
        const { code } = await first.exited;
        if (code !== 1) throw new Error(`It ended with code ${code} instead of 1`);
        await delay(3_000);
      } finally {
        await line.setMode("open");
      }
    },
    async afterwards(trial) {
      trial.note(`${trial.restarts} restarts of the controller`);
      if (trial.restarts > 4) throw new Error(`${trial.restarts} restarts: a crash loop`);
    },
  },
];

/** The hub refuses once to take the finalizer off, when everything is removed. The second attempt does not tell the removal again. */
async function removedInSpiteOfRefusal({ bench: { hub, hubProxy } }: Trial): Promise<void> {
  const { uid } = (await read(hub, "KnativeServing"))?.metadata ?? {};
  const refusal = failure(500, "InternalError", "the fault bench says no");
  using _ = hubProxy.inject(firstN(1, refusal, isRelease));
  await remove(hub, "KnativeServing");
  await gone(hub, "KnativeServing");
  const events = await hub.admin.list({ apiVersion: "v1", kind: "Event" });
  const told = events
    .filter((event) => valueAt(event, "involvedObject", "uid") === uid)
    .filter((event) => event["reason"] === "Removed")
    .map((event) => event["count"]);
  if (told.join() !== "1") throw new Error(`Removed was told ${told.join(" and ")} times`);
}

function isRelease({ method, path }: Pick<Seen, "method" | "path">): boolean {
  return method === "PATCH" && /\/knativeservings\/[^/]+$/.test(pathOf(path));
}

/** The first answer to a controller that starts while the component is being deleted. The component is gone afterwards. */
async function recordedOldList(trial: Trial): Promise<Buffer> {
  const { hub, hubProxy } = trial.bench;
  await trial.installed();
  await trial.halt();
  await remove(hub, "KnativeServing");
  const chunks: Buffer[] = [];
  const record = { kind: "record", onBody: (chunk: Buffer) => void chunks.push(chunk) } as const;
  using _ = hubProxy.inject(firstN(1, record, ({ path }) => isInitial(path)));
  await trial.resume();
  await gone(hub, "KnativeServing");
  if ((await read(hub, "KnativeServing")) !== undefined) throw new Error("It is still there");
  const text = Buffer.concat(chunks).toString("utf8");
  // Up to the mark that the list is complete; what follows are the changes since.
  const lines = text.split("\n");
  const end = lines.findIndex((line) => line.includes("initial-events-end"));
  if (end < 1) throw new Error("The controller was not shown a list");
  return Buffer.from(`${lines.slice(0, end + 1).join("\n")}\n`);
}

function pathOf(path: string): string {
  return path.split("?")[0] ?? "";
}

function isInitial(path: string): boolean {
  return path.includes("/knativeservings?") && path.includes("sendInitialEvents=true");
}

/** How many lists the hub has answered since the counts were reset. One that is still starting refuses some, and how many of them tells nothing of the controller. */
async function listsAnswered({ bench: { hub, hubProxy } }: Trial): Promise<number> {
  const { atMs = 0 } = hubProxy.requests[0] ?? {};
  const since = new Date(performance.timeOrigin + atMs);
  const answered = { userAgent: "knfleet-controller", verb: "watch", since };
  const watches = await hub.auditLog.requests(answered);
  const lists = watches.filter(({ uri }) => uri.includes("sendInitialEvents=true"));
  return lists.filter(({ code }) => code === 200).length;
}
