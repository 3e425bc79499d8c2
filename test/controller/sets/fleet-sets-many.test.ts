import { describe, expect, test } from "vitest";

import type { FleetSetSpec } from "../../../api/fleet-set.ts";
import { apiError } from "../../support/api-error.ts";
import { silentLog } from "../../support/silent-log.ts";
import { answered, leadSets } from "./lead-sets.ts";
import { SetHub } from "./set-hub.ts";

const many = 200;

/** Selects the ClusterProfiles of namespace fleet with a label. */
function selecting(group: string): Partial<FleetSetSpec> {
  const selector = { namespaces: ["fleet"], matchLabels: { group } };
  return { clusters: { from: "Selector", selector } };
}

function created(second: number): string {
  return new Date(Date.UTC(2026, 10, 1) + second * 1_000).toISOString();
}

/** A hub with a set for each group, the first one being the oldest, each rolled out to the cluster of its group. */
async function rolledOut(groups: readonly string[]) {
  const hub = new SetHub();
  for (const group of new Set(groups)) hub.putProfile(`cluster-${group}`, { group });
  const keys = groups.map((group, index) => {
    const name = `set-${index}`;
    return hub.putSet(selecting(group), { name, uid: name, creationTimestamp: created(index) });
  });
  const led = leadSets(hub, { maxSetsPerNamespace: many });
  await quiet(hub);
  const key = (index: number): string => keys[index] ?? "";
  const looksAfter = async (change: () => void): Promise<number> => {
    const before = led.looks;
    change();
    await quiet(hub);
    return led.looks - before;
  };
  return { hub, key, looksAfter };
}

async function quiet(hub: SetHub): Promise<void> {
  for (let second = 0; second < 5; second += 1) {
    await answered();
    await hub.clock.advance(1_000);
  }
  await answered();
}

describe("of many sets", () => {
  test("those that select a cluster of what has changed are looked at, and no others", async () => {
    const own = Array.from({ length: many }, (_, index) => String(index));
    const { hub, key, looksAfter } = await rolledOut(own);
    expect(hub.names()).toHaveLength(many);
    const writes = hub.writes.length;
    // The second look is for the status that the first one writes.
    expect(await looksAfter(() => hub.edit(key(0), { revisionHistoryLimit: 9 }))).toBe(2);
    expect(hub.writes.slice(writes)).toEqual(["replace set-0"]);
    expect(await looksAfter(() => hub.putProfile("cluster-1", { group: "1", a: "b" }))).toBe(1);
    const beating = { type: "Joined", status: "True", lastTransitionTime: "2026-11-25T12:00:00Z" };
    const beats = () => hub.putProfile("cluster-1", { group: "1", a: "b" }, [beating]);
    expect(await looksAfter(beats)).toBe(0);
    expect(await looksAfter(() => hub.drop("KnativeServingSet", "set-2"))).toBe(0);
    expect(await looksAfter(() => hub.putProfile("nobody", { group: "none" }))).toBe(0);
    expect(await looksAfter(() => hub.putProfile("new", { group: "3" }))).toBe(2);
    expect(hub.set(key(3)).status?.clusters).toMatchObject({ selected: 2 });
    const foreign = { apiVersion: "operator.knative.dev/v1beta1", kind: "KnativeServing" };
    const clusterProfileRef = { namespace: "fleet", name: "cluster-4" };
    const metadata = { namespace: "fleet", name: "by-hand" };
    expect(
      await looksAfter(() => hub.put({ ...foreign, metadata, spec: { clusterProfileRef } })),
    ).toBe(1);
  });

  test("a cluster that the oldest one leaves goes to the next one", async () => {
    const { hub, key, looksAfter } = await rolledOut(["a", "a", "a", "b", "c"]);
    expect(hub.names()).toEqual(["set-0-cluster-a", "set-3-cluster-b", "set-4-cluster-c"]);
    const exclude = [{ name: "cluster-a" }];
    const clusters = { from: "Selector", selector: { namespaces: ["nowhere"] }, exclude } as const;
    hub.drop("KnativeServing", "set-0-cluster-a");
    // Two of each set of the cluster, and what the second one writes: the sets of the other clusters are left alone.
    expect(await looksAfter(() => hub.edit(key(0), { clusters }))).toBe(7);
    expect(hub.names()).toEqual(["set-1-cluster-a", "set-3-cluster-b", "set-4-cluster-c"]);
  });

  test("those of another namespace do not wait for all of one namespace", async () => {
    const hub = new SetHub();
    hub.putProfile("a", { group: "a" });
    for (let index = 0; index < many; index += 1) {
      hub.putSet(selecting("none"), { name: `set-${index}`, uid: `set-${index}` });
    }
    hub.putSet(selecting("a"), { name: "other", uid: "other", namespace: "team" });
    leadSets(hub, { maxSetsPerNamespace: many });
    await quiet(hub);
    const first = hub.writes.findIndex((write) => write.endsWith(" other"));
    expect(first).toBe(3);
  });

  test("the oldest ones of a namespace are rolled out, and the next one when one of them goes", async () => {
    const hub = new SetHub();
    for (const group of ["0", "1", "2"]) {
      hub.putProfile(group, { group });
      const name = `set-${group}`;
      hub.putSet(selecting(group), { name, uid: name, creationTimestamp: created(Number(group)) });
    }
    leadSets(hub, { maxSetsPerNamespace: 2 });
    await quiet(hub);
    expect(hub.names()).toEqual(["set-0-0", "set-1-1"]);
    const key = "KnativeServingSet fleet/set-2";
    const message =
      "Namespace fleet has more than 2 sets (--max-sets-per-namespace); the oldest ones are rolled out";
    const { status } = hub.set(key);
    expect(status?.rollout).toEqual({ phase: "Blocked", waitingFor: message });
    expect(status?.conditions).toMatchObject([
      { type: "Progressing", status: "False", reason: "TooManySets", message },
      { type: "Selected", status: "False", reason: "TooManySets", message },
      { type: "Stalled", status: "True", reason: "TooManySets", message },
    ]);
    // One more of those that are left out changes nothing for the others.
    const writes = hub.writes.length;
    hub.putSet(selecting("none"), { name: "set-3", uid: "set-3", creationTimestamp: created(3) });
    await quiet(hub);
    expect(new Set(hub.writes.slice(writes).map((write) => write.split(" ")[1]))).toEqual(
      new Set(["set-3", hub.revisions().at(-1)?.metadata.name]),
    );
    hub.drop("KnativeServingSet", "set-0");
    await quiet(hub);
    expect(hub.names()).toContain("set-2-2");
  });

  test("ten lines say that the hub takes nothing, and then one in half a minute, with the number of those left out", async () => {
    const hub = new SetHub();
    for (let index = 0; index < many; index += 1) {
      const name = `set-${index}`;
      hub.putSet(selecting("none"), { name, uid: name });
      hub.faults.push({ verb: "patch", name, error: apiError(503, "ServiceUnavailable") });
    }
    const lines: object[] = [];
    const warn = (fields: object): void => void lines.push(fields);
    const led = leadSets(hub, { maxSetsPerNamespace: many, log: { ...silentLog, warn } });
    await answered();
    expect([led.looks, lines.length]).toEqual([many, 10]);
    await hub.clock.advance(60_000);
    expect(lines).toHaveLength(11);
    expect(lines[10]).toMatchObject({ omitted: 190 + 12 * many });
  });
});
