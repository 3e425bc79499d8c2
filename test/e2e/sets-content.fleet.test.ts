// Servers of its own: the release folder changes under the controller.
import { expect, test } from "vitest";

import { holdLabel, steering } from "../../api/fleet-set.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import type { Profile } from "../fleet/fleet.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { installedBy, typistOn } from "./cluster-moves.ts";
import { historyOf } from "./history.ts";
import {
  annotateSet,
  childrenOf,
  clustersOf,
  eventsOf,
  labelProfile,
  phase,
  removeSet,
  setKey,
  setOf,
  useSetScene,
  versionsOf,
  versionTemplate,
} from "./set-scene.ts";

// One set goes through the first tests of this file, in this order.
const scene = useSetScene();

function revisionOf(set: KubeObject): string {
  return String(valueAt(set, "status", "updateRevision"));
}

/** Two looks at a set follow one another after a second at the earliest. */
async function moreLooks(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 3_000));
}

test("a newer patch in the release folder waits for its stage, a paused set, a window and a held cluster", async () => {
  const { hub, profiles } = scene();
  await hub.admin.create(setOf("prod", versionTemplate("1.23")));
  await phase(hub, "prod", "Complete");
  const [canary, , held] = profiles;
  if (canary === undefined || held === undefined) throw new Error("There are three profiles");
  await annotateSet(hub, "prod", { [steering.pause]: "not now" });
  await labelProfile(hub, held, { [holdLabel]: "true" });
  await scene().restartWith("1.23.1");
  await phase(hub, "prod", "Paused");
  await moreLooks();
  expect(await versionsOf(hub, "prod")).toEqual(scene().all("1.23.0"));
  expect(await scene().imagesOn(0, 1, 2)).toEqual(["1.23.0", "1.23.0", "1.23.0"]);

  // It opens in half a year.
  const month = ((new Date().getUTCMonth() + 6) % 12) + 1;
  const windows = [{ cron: `0 3 1 ${month} *`, duration: "1h", timeZone: "Europe/Berlin" }];
  const stages = [
    { name: "canary", selector: { matchLabels: { ring: "0" } } },
    { name: "rest", selector: {}, maxConcurrency: 2, before: { windows } },
  ];
  await hub.admin.patch(setKey("prod"), { spec: { rollout: { stages } } });
  await annotateSet(hub, "prod", { [steering.pause]: null });
  const rest = async () => {
    const set = await hub.admin.get(setKey("prod"));
    return valueAt(set, "status", "rollout", "stage") === "rest" && set;
  };
  const waiting = await waitFor("the stage rest to be next", rest, { timeoutMs: 120_000 });
  expect(valueAt(waiting, "status", "rollout", "phase")).toBe("Waiting");
  await moreLooks();
  expect(await versionsOf(hub, "prod")).toEqual({
    ...scene().all("1.23.0"),
    [canary.name]: "1.23.1",
  });
  expect(await scene().imagesOn(0, 1, 2)).toEqual(["1.23.1", "1.23.0", "1.23.0"]);

  await hub.admin.patch(setKey("prod"), {
    spec: { rollout: { stages: stages.map((stage) => ({ ...stage, before: {} })) } },
  });
  await phase(hub, "prod", "Complete");
  expect(await scene().imagesOn(0, 1, 2)).toEqual(["1.23.1", "1.23.1", "1.23.0"]);
  await labelProfile(hub, held, { [holdLabel]: null });
  await waitFor(
    "the cluster that was held",
    async () => (await scene().imagesOn(2))[0] === "1.23.1",
    {
      timeoutMs: 60_000,
    },
  );
  await clustersOf(hub, "prod", { done: 3 });
}, 600_000);

test("a changed release file of the installed version waits for its stage; drift is repaired with the new content meanwhile", async () => {
  const { hub, fleet } = scene();
  const before = await phase(hub, "prod", "Complete");
  await annotateSet(hub, "prod", { [steering.pause]: "not now" });
  await scene().restartChanged("1.23.1", (text) =>
    text
      .replace("thin:1.23.1", "thin:1.23.1-changed")
      .replace('{"index":"1"}', '{"index":"changed"}'),
  );
  await phase(hub, "prod", "Paused");
  const waits = "waits for stage";
  await waitFor("the components to say that they wait", async () =>
    [...(await childrenOf(hub, "prod")).values()].every((child) =>
      JSON.stringify(child["status"]).includes(waits),
    ),
  );
  await moreLooks();
  expect(await scene().imagesOn(0, 1, 2)).toEqual(["1.23.1", "1.23.1", "1.23.1"]);

  const { admin } = fleet.spoke(1);
  const key = { apiVersion: "v1", kind: "ConfigMap", namespace: "knative-eventing" };
  const index = async (name: string) => valueAt(await admin.get({ ...key, name }), "data", "index");
  expect(await index("thin-001")).toBe("1");
  await admin.remove({ ...key, name: "thin-001" });
  await waitFor("the repair", async () => (await index("thin-001")) === "changed");
  await moreLooks();
  expect(await scene().imagesOn(0, 1, 2)).toEqual(["1.23.1", "1.23.1", "1.23.1"]);

  await annotateSet(hub, "prod", { [steering.pause]: null });
  const complete = await waitFor(
    "the new revision to be complete",
    async () => {
      const set = await phase(hub, "prod", "Complete");
      return revisionOf(set) !== revisionOf(before) && set;
    },
    { timeoutMs: 120_000 },
  );
  expect(valueAt(complete, "status", "currentRevision")).toBe(revisionOf(complete));
  const changed = "1.23.1-changed";
  expect(await scene().imagesOn(0, 1, 2)).toEqual([changed, changed, changed]);
  const children = [...(await childrenOf(hub, "prod")).values()];
  expect(JSON.stringify(children)).not.toContain(waits);
}, 600_000);

/** A set of the clusters with a label, which leaves components soon. */
function selecting(env: string) {
  return {
    clusters: { from: "Selector", selector: { namespaces: ["fleet"], matchLabels: { env } } },
    whenUnselected: { after: "3s" },
  };
}

test("clusters move from one set to another by one label, as docs/sets.md says, and Knative stays as it is", async () => {
  const { hub, profiles } = scene();
  const [first, second, third] = profiles;
  if (first === undefined || second === undefined || third === undefined) throw new Error("three");
  const type = await typistOn(scene().fleet);
  const move = (profile: Profile, to: string) =>
    type(`kubectl label clusterprofile ${profile.name} -n fleet env=${to} --overwrite`);
  const membersOf = async (name: string) => [...(await childrenOf(hub, name)).keys()].toSorted();
  for (const profile of profiles) await move(profile, "old");
  await removeSet(hub, "prod");
  await hub.admin.create(setOf("old", selecting("old")));
  await phase(hub, "old", "Complete");
  await hub.admin.create(setOf("new", selecting("new")));
  const before = (await childrenOf(hub, "old")).get(first.name);
  if (before === undefined) throw new Error("There is a component");
  const installed = await installedBy(before, first);
  await using history = await historyOf(hub, before);

  expect(await type("kubectl knfleet rollout plan kes/new")).toContain("new");
  await move(first, "new");
  const waiting = await clustersOf(hub, "new", { blocked: 1 });
  expect(valueAt(waiting, "status", "notable", 0)).toMatchObject({ reason: "Duplicate" });
  await clustersOf(hub, "new", { done: 1, blocked: 0 });
  const after = (await childrenOf(hub, "new")).get(first.name);
  expect(after?.metadata.name).toBe(before.metadata.name);
  expect(await installedBy(after, first)).toEqual(installed);
  // Not removed, not made again, and ready all the time.
  await expect
    .poll(() => history.versions.map(({ metadata }) => metadata.resourceVersion))
    .toContain(after?.metadata.resourceVersion);
  const states = history.versions.map((version) => ({
    deleted: version.metadata.deletionTimestamp,
    ready: conditionOf(version, "Ready")?.status,
    version: valueAt(version, "status", "version"),
  }));
  expect(states).toEqual(
    states.map(() => ({ deleted: undefined, ready: "True", version: "1.22.0" })),
  );

  // All that are left, when they are more than one, need a word.
  for (const profile of [second, third]) await move(profile, "new");
  await waitFor(
    "the guard",
    async () =>
      conditionOf(await hub.admin.get(setKey("old")), "Selected")?.reason === "SuspiciousShrink",
  );
  expect(await membersOf("old")).toEqual([second.name, third.name].toSorted());
  await type("kubectl knfleet rollout accept-selection kes/old");
  await clustersOf(hub, "new", { done: 3, blocked: 0 });
  expect(await membersOf("old")).toEqual([]);

  // Some of them do not, nor does the last one.
  for (const profile of [second, third]) await move(profile, "old");
  await clustersOf(hub, "old", { done: 2, blocked: 0 });
  await move(first, "old");
  await clustersOf(hub, "old", { done: 3, blocked: 0 });
  expect(await installedBy((await childrenOf(hub, "old")).get(first.name), first)).toEqual(
    installed,
  );
  expect(await eventsOf(hub, "new", "SuspiciousShrink")).toEqual([]);
}, 600_000);
