import { describe, expect, test } from "vitest";

import { setAnnotations, setLabels } from "../../../api/fleet-set.ts";
import { isChildOf } from "../../../controller/sets/child-object.ts";
import { hubWith, rollout, type SetHub, whenUnselected } from "./set-hub.ts";

/** `kubectl get -o yaml`, another name, another cluster, `kubectl apply`. */
function copy(
  hub: SetHub,
  from: string,
  { name, cluster }: { name: string; cluster: string },
): void {
  const found = hub.components().find(({ metadata }) => metadata.name === from);
  if (found === undefined) throw new Error(`No component ${from}`);
  const { labels = {}, annotations = {}, namespace } = found.metadata;
  const spec = { ...found.spec, clusterProfileRef: { namespace: "fleet", name: cluster } };
  hub.put({ ...found, metadata: { namespace, name, labels, annotations }, spec });
}

describe("a copy of a component of a set", () => {
  test("for a cluster that is not selected is left alone", async () => {
    const { hub, key } = await hubWith(["a"]);
    copy(hub, "prod-a", { name: "copy", cluster: "elsewhere" });
    for (let look = 0; look < 3; look += 1) {
      await hub.look(key);
      await hub.clock.advance(2_000);
    }
    expect(hub.names()).toEqual(["copy", "prod-a"]);
    const left = hub.components().find(({ metadata }) => metadata.name === "copy");
    expect(left?.metadata.annotations).not.toHaveProperty(setAnnotations.unselectedAt);
  });

  test("for a cluster of the set does not stand for the set's own component", async () => {
    const { hub, key } = await hubWith(["a"]);
    copy(hub, "prod-a", { name: "z-copy", cluster: "a" });
    hub.edit(key, { template: { spec: { version: "1.23.0" } } });
    await hub.look(key);
    expect(hub.versions()).toEqual({ "prod-a": "1.23.0", "z-copy": "1.22.0" });
  });

  test("for a cluster that the set gets later is a component like every other: adoption decides", async () => {
    const { hub, key } = await hubWith(["a"]);
    copy(hub, "prod-a", { name: "copy", cluster: "b" });
    hub.putProfile("b");
    await hub.look(key);
    const taken = hub.components().find(({ metadata }) => metadata.name === "copy");
    expect(taken !== undefined && isChildOf(taken, hub.set(key))).toBe(true);
    copy(hub, "prod-a", { name: "other", cluster: "c" });
    hub.edit(key, { adoption: "Never" });
    hub.putProfile("c");
    await hub.look(key);
    expect(hub.set(key).status?.notable).toMatchObject([
      { cluster: "fleet/c", reason: "NotOwned" },
    ]);
    expect(hub.names()).toEqual(["copy", "other", "prod-a"]);
  });
});

describe("components of a backup, whose set has another uid", () => {
  test("are taken over where they are what the set wants, and the others are told", async () => {
    const { hub, key } = await hubWith(["a", "b"]);
    hub.drop("KnativeServingSet", "prod");
    hub.drop("ControllerRevision", hub.revisions()[0]?.metadata.name ?? "");
    const b = hub.components().find(({ metadata }) => metadata.name === "prod-b");
    if (b === undefined) throw new Error("No prod-b");
    hub.put({ ...b, spec: { ...b.spec, version: "1.21.0" } });
    hub.putSet({ rollout, whenUnselected }, { uid: "restored" });
    await hub.look(key);
    await hub.clock.advance(2_000);
    await hub.look(key);
    const uids = hub
      .components()
      .map(({ metadata }) => [metadata.name, metadata.annotations?.[setAnnotations.setUid]]);
    expect(Object.fromEntries(uids)).toEqual({ "prod-a": "restored", "prod-b": "set" });
    expect(hub.set(key).status?.notable).toMatchObject([
      { cluster: "fleet/b", reason: "NotOwned" },
    ]);
    expect(hub.versions()).toEqual({ "prod-a": "1.22.0", "prod-b": "1.21.0" });
  });

  test("stay when that set is deleted with Delete", async () => {
    const { hub, key } = await hubWith(["a"]);
    hub.putSet(
      { deletionPolicy: "Delete" },
      { uid: "restored", deletionTimestamp: "2026-11-25T12:00:00Z", finalizers: [] },
    );
    await hub.look(key);
    expect(hub.names()).toEqual(["prod-a"]);
    expect(hub.components()[0]?.metadata.labels).toHaveProperty(setLabels.set);
  });
});
