import { describe, expect, test } from "vitest";

import { fleetSetKinds, steering } from "../../../api/fleet-set.ts";
import { rolloutWith } from "../../sets/set-world.ts";
import { answered, leadSets } from "./lead-sets.ts";
import { SetHub } from "./set-hub.ts";

const servingKey = "KnativeServingSet fleet/prod";
const eventingKey = "KnativeEventingSet fleet/prod";
const stages = [{ name: "all", selector: {}, maxConcurrency: "100%" }];
const after = { kind: "KnativeServingSet", name: "prod" } as const;

async function quiet(hub: SetHub): Promise<void> {
  for (let second = 0; second < 5; second += 1) {
    // oxlint-disable no-await-in-loop -- one second after the other
    await answered();
    await hub.clock.advance(1_000);
    // oxlint-enable no-await-in-loop
  }
  await answered();
}

/** The clusters `a` and `b`: a set of Serving selects `a`, and one of Eventing comes after it on both. */
async function twoSets(hasServing = true): Promise<SetHub> {
  const hub = new SetHub();
  hub.putProfile("a", { serving: "yes" });
  hub.putProfile("b");
  const selector = { matchLabels: { serving: "yes" } };
  hub.putSet({ clusters: { from: "Selector", selector }, rollout: rolloutWith({ stages }) });
  const { spec, ...set } = hub.set(servingKey);
  const clusters = { from: "Selector" } as const;
  hub.put({
    ...set,
    kind: "KnativeEventingSet",
    metadata: { ...set.metadata, uid: "eventing" },
    spec: { ...spec, clusters, rollout: rolloutWith({ stages, after }) },
  });
  if (!hasServing) hub.drop("KnativeServingSet", "prod");
  leadSets(hub);
  await quiet(hub);
  return hub;
}

function eventingOn(hub: SetHub): readonly string[] {
  return hub
    .components()
    .filter(({ kind }) => kind === fleetSetKinds.KnativeEventingSet.component)
    .map(({ spec }) => spec?.clusterProfileRef?.name ?? "")
    .toSorted();
}

const waitingFor = (hub: SetHub) => hub.set(eventingKey).status?.rollout?.waitingFor;

/** Lets the component of Serving say that it is ready, with the spec that it has. */
function makeReady(hub: SetHub): void {
  for (const one of hub.components().filter(({ kind }) => kind === "KnativeServing")) {
    const lastTransitionTime = hub.clock.date().toISOString();
    const { generation = 1 } = one.metadata;
    hub.put({
      ...one,
      status: {
        observedGeneration: generation,
        version: one.spec?.version,
        conditions: [{ type: "Ready", status: "True", lastTransitionTime }],
      },
    });
  }
}

describe("rollout.after", () => {
  test("lets a cluster begin when the other set is done there, and one that the other set does not select at once", async () => {
    const hub = await twoSets();
    expect(eventingOn(hub)).toEqual(["b"]);
    makeReady(hub);
    await quiet(hub);
    expect(eventingOn(hub)).toEqual(["a", "b"]);
  });

  test("says for which set and which cluster a stage waits, once nothing else is under way", async () => {
    const hub = await twoSets();
    hub.drop("ClusterProfile", "b");
    await quiet(hub);
    expect(waitingFor(hub)).toBe("Stage all waits: KnativeServingSet prod is not done on fleet/a");
  });

  test("does not wait for a cluster that the other set skips in its rollout", async () => {
    const hub = await twoSets();
    const revision = hub.set(servingKey).status?.updateRevision ?? "";
    hub.annotate(servingKey, steering.skipClusters, `${revision} fleet/a`);
    await quiet(hub);
    expect(eventingOn(hub)).toEqual(["a", "b"]);
  });

  test("says of two sets that they wait for each other", async () => {
    const hub = await twoSets();
    const back = { kind: "KnativeEventingSet", name: "prod" } as const;
    hub.edit(servingKey, { rollout: rolloutWith({ stages, after: back }) });
    hub.drop("ClusterProfile", "b");
    await quiet(hub);
    expect(waitingFor(hub)).toContain(
      "KnativeServingSet fleet/prod and this set wait for each other",
    );
  });

  test("waits for a set that does not exist, until it is there", async () => {
    const hub = await twoSets(false);
    expect(eventingOn(hub)).toEqual([]);
    expect(waitingFor(hub)).toBe("Stage all waits: KnativeServingSet fleet/prod does not exist");
    hub.putSet({ clusters: { from: "Selector", selector: { matchLabels: { none: "yes" } } } });
    await quiet(hub);
    expect(eventingOn(hub)).toEqual(["a", "b"]);
  });

  test("holds a cluster back again when the other set has a new revision that is not done there", async () => {
    const hub = await twoSets();
    makeReady(hub);
    await quiet(hub);
    hub.edit(servingKey, { template: { spec: { version: "1.23.0" } } });
    hub.edit(eventingKey, { template: { spec: { version: "1.23.0" } } });
    await quiet(hub);
    const versionOn = (name: string) =>
      hub
        .components()
        .find(
          ({ kind, spec }) => kind === "KnativeEventing" && spec?.clusterProfileRef?.name === name,
        )?.spec?.version;
    expect([versionOn("a"), versionOn("b")]).toEqual(["1.22.0", "1.23.0"]);
  });
});
