import { expect, onTestFinished, test } from "vitest";

import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { WorkWatch } from "../../../controller/pull/work-watch.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { silentLog } from "../../support/silent-log.ts";

/** A hub with a work and its ManagedCluster, and what is told of them once the watches have seen both. */
async function watched({ opened = 1 }: { readonly opened?: number } = {}) {
  const clock = new FakeClock();
  const memory = new MemoryHub();
  const watches: string[] = [];
  const told: string[] = [];
  const life = new AbortController();
  onTestFinished(() => life.abort(new Error("The test is over")));
  const watch: KubeClient["watch"] = (ref, ...rest) => {
    watches.push(`${ref.resource.kind} ${ref.labelSelector ?? ""}`);
    return memory.watch(ref, ...rest);
  };
  const works = new WorkWatch(
    {
      clock,
      client: { list: memory.list, watch },
      log: silentLog,
      onChange: (cluster) => told.push(cluster),
    },
    life.signal,
  );
  const cluster = (available: string | undefined, capacity: string): void => {
    const condition = { type: "ManagedClusterConditionAvailable", status: available };
    const conditions = available === undefined ? [] : [condition];
    memory.edit("ManagedCluster", "spoke-1", { status: { conditions, capacity } });
  };
  const work = (state: string): void => {
    const metadata = { namespace: "spoke-1", name: "work", uid: "work" };
    memory.edit("ManifestWork", "work", { metadata, status: { state } });
  };
  cluster("True", "1");
  work("new");
  for (let times = 0; times < opened; times += 1) works.open();
  await clock.advance(0);
  const toldBy = async (change: () => void): Promise<readonly string[]> => {
    told.length = 0;
    change();
    await clock.advance(0);
    return told;
  };
  return { memory, watches, cluster, work, toldBy };
}

test("a hub is not asked before the first pulled component, and once from then on", async () => {
  const closed = await watched({ opened: 0 });
  expect([closed.watches, closed.memory.requests]).toEqual([[], 0]);
  const { watches } = await watched({ opened: 2 });
  expect(watches).toEqual(["ManifestWork app.kubernetes.io/managed-by=knfleet", "ManagedCluster "]);
});

test("a work tells its cluster when it changes and when it goes", async () => {
  const { memory, work, toldBy } = await watched();
  expect(await toldBy(() => work("applied"))).toEqual(["spoke-1"]);
  expect(await toldBy(() => memory.drop("ManifestWork", "work"))).toEqual(["spoke-1"]);
});

test("a ManagedCluster tells when it reports or falls silent, and when it goes", async () => {
  const { memory, cluster, toldBy } = await watched();
  expect(await toldBy(() => cluster("Unknown", "1"))).toEqual(["spoke-1"]);
  expect(await toldBy(() => cluster(undefined, "1"))).toEqual(["spoke-1"]);
  expect(await toldBy(() => cluster(undefined, "2"))).toEqual([]);
  expect(await toldBy(() => cluster("True", "2"))).toEqual(["spoke-1"]);
  expect(await toldBy(() => cluster("True", "3"))).toEqual([]);
  expect(await toldBy(() => memory.drop("ManagedCluster", "spoke-1"))).toEqual(["spoke-1"]);
});
