import { describe, expect, test } from "vitest";

import { type FleetSetSpec, holdLabel, type NotableCluster } from "../../../api/fleet-set.ts";
import { rolloutWith } from "../../sets/set-world.ts";
import { apiError } from "../../support/api-error.ts";
import { answered, leadSets } from "./lead-sets.ts";
import { rollout, SetHub, whenUnselected } from "./set-hub.ts";

const apiVersion = "operator.knative.dev/v1beta1";
const paused = rolloutWith({ paused: true });
const clusterProfileRef = { namespace: "fleet", name: "eu" };

async function quiet(hub: SetHub): Promise<void> {
  for (let second = 0; second < 5; second += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one second after the other
    await answered();
    // oxlint-disable-next-line no-await-in-loop -- one second after the other
    await hub.clock.advance(1_000);
  }
  await answered();
}

/** A hub with sets of these names, the first one being the oldest, that all select the cluster `eu`. */
async function hubWith(names: readonly string[], spec: Partial<FleetSetSpec>): Promise<SetHub> {
  const hub = new SetHub();
  hub.putProfile("eu");
  for (const [index, name] of names.entries()) {
    const creationTimestamp = `2026-11-0${index + 1}T00:00:00Z`;
    hub.putSet(spec, { name, uid: name, creationTimestamp });
  }
  leadSets(hub);
  await quiet(hub);
  return hub;
}

/** What the status of a set says of its one cluster. */
function said(hub: SetHub, name: string): NotableCluster | undefined {
  return hub.set(`KnativeServingSet fleet/${name}`).status?.notable?.at(0);
}

/** Stores a component on the cluster `eu` that no set wrote. */
function putForeign(hub: SetHub, metadata: object, more: object = {}): void {
  const named = { namespace: "fleet", name: "by-hand", ...metadata };
  const spec = { clusterProfileRef, version: "1.21.0" };
  hub.put({ apiVersion, kind: "KnativeServing", metadata: named, spec, ...more });
}

const labelsOf = (set: string) => ({
  labels: { "knfleet.dev/set": set, "knfleet.dev/set-kind": "KnativeServingSet" },
});
const foreign = [
  { name: "without labels of a set", metadata: {} },
  { name: "with the labels of a set that does not exist", metadata: labelsOf("gone") },
  { name: "with the labels of a set that did not write it", metadata: labelsOf("other") },
  { name: "with the labels of the set itself, which did not write it", metadata: labelsOf("prod") },
];

describe("a set that selects a cluster is looked at", () => {
  test.each(foreign)("when a component $name comes, changes and goes", async ({ metadata }) => {
    const hub = await hubWith(["prod"], { adoption: "IfEqual", rollout: paused });
    const nowhere = { from: "Selector", selector: { namespaces: ["nowhere"] } } as const;
    hub.putSet({ clusters: nowhere }, { name: "other", uid: "other" });
    await quiet(hub);
    expect(said(hub, "prod")).toBeUndefined();
    putForeign(hub, metadata);
    await quiet(hub);
    expect(said(hub, "prod")).toMatchObject({
      reason: "NotOwned",
      message:
        'KnativeServing fleet/by-hand has the cluster, and its spec.version differs: it has "1.21.0", the set wants "1.22.0"',
    });
    const spec = { clusterProfileRef, version: "1.22.0", "high-availability": { replicas: 2 } };
    putForeign(hub, { ...metadata, generation: 2 }, { spec });
    await quiet(hub);
    expect(said(hub, "prod")?.message).toContain("its spec.high-availability");
    hub.drop("KnativeServing", "by-hand");
    await quiet(hub);
    expect(said(hub, "prod")).toBeUndefined();
  });

  test("when the component of another set leaves that set", async () => {
    const hub = await hubWith(["older", "younger"], { adoption: "Never" });
    expect(hub.names()).toEqual(["older-eu"]);
    expect(said(hub, "younger")).toMatchObject({
      reason: "Duplicate",
      message: "KnativeServing fleet/older-eu belongs to the set fleet/older",
    });
    putForeign(hub, { name: "older-eu" });
    await quiet(hub);
    expect(said(hub, "younger")).toMatchObject({
      reason: "NotOwned",
      message: "KnativeServing fleet/older-eu has the cluster, and adoption is Never",
    });
  });

  test("when a cluster that it does not select any more is held no longer", async () => {
    const hub = new SetHub();
    hub.putProfile("us", { ring: "a" });
    hub.putProfile("eu", { ring: "a" });
    const clusters = { from: "Selector", selector: { matchLabels: { ring: "a" } } } as const;
    hub.putSet({ clusters, rollout, whenUnselected });
    leadSets(hub);
    await quiet(hub);
    hub.putProfile("eu", { [holdLabel]: "true" });
    await quiet(hub);
    expect(hub.names()).toEqual(["prod-eu", "prod-us"]);
    hub.putProfile("eu");
    await quiet(hub);
    expect(hub.names()).toEqual(["prod-us"]);
  });

  test("when the component that had the cluster is deleted, and takes the cluster", async () => {
    const hub = await hubWith(["prod"], { adoption: "Never", rollout: paused });
    putForeign(hub, {});
    hub.edit("KnativeServingSet fleet/prod", { rollout: rolloutWith() });
    await quiet(hub);
    expect(hub.names()).toEqual(["by-hand"]);
    hub.drop("KnativeServing", "by-hand");
    await quiet(hub);
    expect(hub.names()).toEqual(["prod-eu"]);
  });
});

test("a set that changes all the time is looked at once in a second", async () => {
  const hub = new SetHub();
  const key = hub.putSet();
  const led = leadSets(hub);
  await quiet(hub);
  const looks: number[] = [];
  for (let quarter = 0; quarter < 8; quarter += 1) {
    hub.edit(key, { revisionHistoryLimit: quarter });
    // oxlint-disable-next-line no-await-in-loop -- one edit after the other
    await answered();
    looks.push(led.looks);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await hub.clock.advance(250);
  }
  expect(looks.map((count) => count - (looks[0] ?? 0))).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
});

test("a set that somebody else changes under each write is looked at once in a second", async () => {
  const hub = new SetHub();
  hub.putSet();
  hub.faults.push({ verb: "patch", name: "prod", error: apiError(409, "Conflict") });
  const led = leadSets(hub);
  await answered();
  await hub.clock.advance(3_500);
  await answered();
  expect(led.looks).toBe(4);
});

test("a set that is made anew under the same name is looked at without delay", async () => {
  const hub = await hubWith(["prod"], {});
  hub.edit("KnativeServingSet fleet/prod", { revisionHistoryLimit: 3 });
  await answered();
  hub.drop("KnativeServingSet", "prod");
  await answered();
  hub.putSet({}, { uid: "second" });
  await answered();
  expect(hub.set("KnativeServingSet fleet/prod").status).toBeDefined();
});
