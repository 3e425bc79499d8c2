import { setTimeout as delay } from "node:timers/promises";

import { expect, test } from "vitest";

import { operatorApiVersion } from "../../api/component.ts";
import type { ObjectKey } from "../../api/kubernetes.ts";
import type { LogLine } from "../support/controller-process.ts";
import { componentOf, condition, gone, installed, read, remove } from "./installation.ts";
import { guardWritesTo, writesTo } from "./requests.ts";
import { useScene } from "./scene.ts";
import { writeThinRelease } from "./thin-release.ts";

const scene = useScene({ spokes: 1 }, { releases: ({ folder }) => writeThinRelease(folder, 60) });
const kind = "KnativeEventing";
const namespace = "knative-eventing";
const key: ObjectKey = { apiVersion: operatorApiVersion, kind, namespace, name: namespace };

async function makeComponent(spec: object): Promise<string> {
  const { admin } = scene().hub;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const component = componentOf({ kind, spec: { ...spec } });
  return (await admin.create(component)).metadata.uid;
}

function profileRef(): object {
  const [profile] = scene().profiles;
  return { clusterProfileRef: { namespace: profile?.namespace, name: profile?.name } };
}

/** All that was written to the spoke, for the guard of the anchor, too. */
async function writes(since: Date): Promise<readonly { readonly receivedAt: Date }[]> {
  const spoke = scene().fleet.spoke(0);
  return [...(await writesTo(spoke, since)), ...(await guardWritesTo(spoke, since))];
}

test.each([
  {
    what: "names a ClusterProfile that does not exist",
    wanted: ["TargetClusterResolved", { status: "False", reason: "ClusterProfileNotFound" }],
    spec: () => ({ clusterProfileRef: { namespace: "fleet", name: "typo" } }),
    lose: async () => undefined,
  },
  {
    what: "names a ClusterProfile that is not ready",
    wanted: ["TargetClusterResolved", { status: "False", reason: "ClusterProfileNotReady" }],
    spec: profileRef,
    lose: () => scene().profiles[0]?.update({ healthy: false }),
  },
  {
    what: "is for a cluster that does not answer",
    wanted: ["TargetClusterResolved", { status: "False", reason: "RemoteClientCreationFailed" }],
    spec: profileRef,
    lose: () => scene().fleet.spoke(0).proxy.setMode("refuse"),
  },
  {
    what: "wants a release that does not exist",
    wanted: ["InstallSucceeded", { status: "False", message: /9\.9/ }],
    spec: () => ({ ...profileRef(), version: "9.9" }),
    lose: async () => undefined,
  },
] as const)(
  "a component that $what has no finalizer, and goes when it is deleted",
  async ({ wanted, spec, lose }) => {
    const { hub, fleet, profiles } = scene();
    const since = new Date();
    await lose();
    await makeComponent(spec());
    const [type, says] = wanted;
    const waiting = await condition(hub, kind, [type, says]);
    expect(waiting.metadata.finalizers).toBeUndefined();
    await remove(hub, kind);
    expect(await read(hub, kind)).toBeUndefined();
    expect(await writes(since)).toEqual([]);
    await fleet.spoke(0).proxy.setMode("open");
    await profiles[0]?.update({ healthy: true });
  },
);

/** Errors of the log; without those of a cluster that an earlier test cut off a moment ago. */
function failures(): readonly LogLine[] {
  const errors = scene().controller.logLines({ level: "error" });
  return errors.filter(({ reason }) => reason !== "RemoteClientCreationFailed");
}

// From before anything is known of the cluster to the end of the install.
const momentsMs = [0, 100, 500, 3_000];

test("a component that is deleted at any moment of its first attempt leaves nothing on its spoke, where nothing is written before the hub has its finalizer", async () => {
  const { hub, fleet } = scene();
  const spoke = fleet.spoke(0);
  const seen: boolean[] = [];
  const before = failures().length;
  for (const ms of momentsMs) {
    const since = new Date();
    const uid = await makeComponent(profileRef());
    await delay(ms);
    await hub.admin.remove(key);
    await gone(hub, kind, 180_000);
    const written = await writes(since);
    const patches = await hub.auditLog.requests({
      userAgent: "knfleet-controller",
      verb: "patch",
      resource: "knativeeventings",
      since,
    });
    const held = patches.find(({ code }) => code === 200);
    const heldAt = held?.answeredAt.getTime() ?? Infinity;
    for (const { receivedAt } of written) {
      expect(receivedAt.getTime()).toBeGreaterThanOrEqual(heldAt);
    }
    expect(await installed(spoke, uid)).toEqual([]);
    const anchors = await spoke.admin.list({ apiVersion: "v1", kind: "ConfigMap", namespace });
    expect(anchors.filter(({ metadata }) => metadata.name.endsWith("-root-owner"))).toEqual([]);
    seen.push(written.length > 0);
  }
  // Both happened: deleted before anything was written, and after.
  expect(new Set(seen).size).toBe(2);
  expect(failures().slice(before)).toEqual([]);
});
