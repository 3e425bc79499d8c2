import { describe, expect, test } from "vitest";

import { type ComponentKind, componentKinds } from "../../api/component.ts";
import type { KubeObject, ObjectKey } from "../../api/kubernetes.ts";
import { anchorNameOf } from "../../installation/anchor.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { documentedCommands, runAsAdmin } from "../support/documented-commands.ts";
import { differencesOf, dumpOfComponent } from "../support/spoke-dump.ts";
import { useClearScene } from "./clear-scene.ts";
import {
  condition,
  create,
  gone,
  installed,
  inventoryOf,
  leftovers,
  read,
  ready,
  remove,
  removeConfirmed,
} from "./installation.ts";
import { requestsTo } from "./requests.ts";
import { useScene } from "./scene.ts";
import { writeThinRelease } from "./thin-release.ts";

// Spokes that are silent are lost, and tried again, in a fourth of the time.
const clockFactor = 4;
const scene = useScene(
  { spokes: 2, hub: { kwok: true } },
  {
    flags: ["--log-level=debug"],
    clockFactor,
    releases: ({ folder }) => writeThinRelease(folder, 3, ["1.23.0"], { hasClusterRole: true }),
  },
);
/** Of the thin release: a Deployment, a ServiceAccount, a ClusterRole and ConfigMaps. */
const objects = 6;
useClearScene(scene);
const policyBindings = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicyBinding",
};

function anchorOf(kind: ComponentKind): ObjectKey {
  const name = componentKinds[kind].label;
  const anchor = anchorNameOf({ kind, name });
  return { apiVersion: "v1", kind: "ConfigMap", namespace: name, name: anchor };
}

/** Sets the annotation that lets a component go without its installation. */
async function forceOrphan(hub: Cluster, value: string): Promise<void> {
  const { apiVersion, kind, metadata } = (await read(hub, "KnativeEventing")) ?? {};
  if (apiVersion === undefined || kind === undefined || metadata === undefined) return;
  const { namespace = "", name } = metadata;
  const annotations = { "knfleet.dev/force-orphan": value };
  await hub.admin.patch({ apiVersion, kind, namespace, name }, { metadata: { annotations } });
}

function eventsOn(hub: Cluster, uid: string, reason: string): Promise<readonly KubeObject[]> {
  return waitFor(`an Event ${reason}`, async () => {
    const events = await hub.admin.list({ apiVersion: "v1", kind: "Event" });
    const found = events.filter(
      (event) => valueAt(event, "involvedObject", "uid") === uid && event["reason"] === reason,
    );
    return found.length > 0 && found;
  });
}

test("a delete waits for a spoke that is silent for 20 s, says SpokeUnreachable and the way out, and then finishes", async () => {
  const { hub, fleet, profiles } = scene();
  const spoke = fleet.spoke(1);
  const { metadata } = await create(hub, { kind: "KnativeEventing", on: profiles[1] });
  await ready(hub, "KnativeEventing");
  await spoke.proxy.setMode("refuse");
  const away = Date.now();
  await remove(hub, "KnativeEventing");
  const waiting = await condition(hub, "KnativeEventing", [
    "TargetClusterResolved",
    { status: "Unknown", reason: "SpokeUnreachable", message: /knfleet\.dev\/force-orphan=/ },
    18_000 / clockFactor,
  ]);
  expect(waiting.metadata.deletionTimestamp).toBeDefined();
  expect(waiting.metadata.finalizers).toEqual(["knativeeventings.operator.knative.dev"]);
  const silentMs = 20_000 / clockFactor;
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, silentMs - (Date.now() - away))));
  expect(conditionOf(await read(hub, "KnativeEventing"), "Ready")?.status).not.toBe("True");
  expect(await installed(spoke, metadata.uid)).toHaveLength(objects);
  await spoke.proxy.setMode("open");
  await gone(hub, "KnativeEventing");
  expect(await installed(spoke, metadata.uid)).toEqual([]);
  expect(await spoke.admin.get(anchorOf("KnativeEventing"))).toBeUndefined();
});

describe("knfleet.dev/force-orphan", () => {
  test("with the uid lets a component go whose spoke is silent; with anything else it is ignored aloud", async () => {
    const { hub, fleet, profiles } = scene();
    const spoke = fleet.spoke(1);
    const { metadata } = await create(hub, { kind: "KnativeEventing", on: profiles[1] });
    await ready(hub, "KnativeEventing");
    const before = await dumpOfComponent(spoke, metadata.uid);
    await spoke.proxy.setMode("refuse");
    await forceOrphan(hub, "5e1d0a3c-1111-2222-3333-444455556666");
    await remove(hub, "KnativeEventing");
    await condition(hub, "KnativeEventing", [
      "TargetClusterResolved",
      { reason: "SpokeUnreachable", message: /force-orphan is ignored: it is not the uid/ },
    ]);
    // Another attempt that failed does not tell it again.
    await scene().controller.logged({ msg: "Reconcile failed again", uid: metadata.uid });
    const [ignored] = await eventsOn(hub, metadata.uid, "ForceOrphanIgnored");
    expect(ignored?.["count"]).toBe(1);
    const since = new Date();
    await forceOrphan(hub, metadata.uid);
    await gone(hub, "KnativeEventing");
    await spoke.proxy.setMode("open");

    const [event] = await eventsOn(hub, metadata.uid, "Orphaned");
    expect(event?.["message"]).toMatch(/left on ClusterProfile fleet\/spoke-2 .* \d+ objects \(/);
    const list = event?.metadata.annotations?.["knfleet.dev/left-behind"]?.split("\n") ?? [];
    expect(list).toContain("apps/v1 Deployment knative-eventing/thin");
    expect(list).toHaveLength(objects);
    const lines = scene().controller.logLines();
    const logged = lines.find((line) => Array.isArray(line["left"]));
    expect(logged?.["left"]).toEqual(list);
    expect(differencesOf(before, await dumpOfComponent(spoke, metadata.uid))).toEqual([]);
    // Who comes back is asked for its version and watched; nothing is read or written.
    const sent = (await requestsTo(spoke, since)).filter(({ uri }) => uri !== "/version");
    expect(sent.filter(({ verb }) => verb !== "watch")).toEqual([]);

    // By hand, as docs/removal.md says; what is in another namespace goes as well.
    const labels = { "knfleet.dev/component-uid": metadata.uid };
    const elsewhere = { namespace: "default", name: "elsewhere", labels };
    await spoke.admin.create({ apiVersion: "v1", kind: "ConfigMap", metadata: elsewhere });
    const [, byHand] = await documentedCommands(
      "docs/removal.md",
      "## When the cluster cannot be had",
    );
    await runAsAdmin(spoke, byHand ?? "exit 1", { uid: metadata.uid });
    expect(await spoke.admin.get(anchorOf("KnativeEventing"))).toBeUndefined();
    expect(await installed(spoke, metadata.uid)).toEqual([]);
    // The guard left the cluster alone, too: it does not put its policies back in the seconds that this takes.
    const [leave] = await documentedCommands("docs/migrate.md", "## Back");
    await runAsAdmin(spoke, leave ?? "exit 1", { HUB_KUBECONFIG: hub.adminKubeconfigPath });
    expect(await spoke.admin.list(policyBindings)).toEqual([]);
  });

  test("lets a component go whose ClusterProfile is gone, after a restart, and touches nothing on a spoke that answers", async () => {
    const { hub, fleet, profiles } = scene();
    const spoke = fleet.spoke(0);
    const { metadata } = await create(hub, { kind: "KnativeEventing", on: profiles[0] });
    await ready(hub, "KnativeEventing");
    await scene().controller.kill();
    await profiles[0]?.remove();
    scene().controller = await scene().startController();
    await remove(hub, "KnativeEventing");
    const notFound = {
      status: "False",
      reason: "ClusterProfileNotFound",
      message: /force-orphan=/,
    };
    await condition(hub, "KnativeEventing", ["TargetClusterResolved", notFound]);
    const before = await dumpOfComponent(spoke, metadata.uid);
    const since = new Date();
    await forceOrphan(hub, metadata.uid);
    await gone(hub, "KnativeEventing");
    const [event] = await eventsOn(hub, metadata.uid, "Orphaned");
    expect(event?.["message"]).toContain("rendered from the spec");
    expect(differencesOf(before, await dumpOfComponent(spoke, metadata.uid))).toEqual([]);
    expect(await requestsTo(spoke, since)).toEqual([]);
    await fleet.addProfile(spoke, { plugin: "secretreader" });
    await removeConfirmed(spoke, anchorOf("KnativeEventing"));
    await waitFor("what the anchor owned to go", async () => {
      const left = await installed(spoke, metadata.uid);
      return left.every((object) => object.metadata.namespace === undefined);
    });
  });
});

test("D-01: a ClusterProfile that is gone uninstalls nothing, and its component keeps its finalizer until the profile is back, also over a restart", async () => {
  const { hub, fleet, profiles } = scene();
  const spoke = fleet.spoke(0);
  const reason = "ClusterProfileNotFound";
  const [profile] = profiles;
  if (profile === undefined) throw new Error("There is no profile");
  const { metadata } = await create(hub, { kind: "KnativeEventing", on: profile });
  await ready(hub, "KnativeEventing");
  const before = await dumpOfComponent(spoke, metadata.uid);
  await profile.remove();
  await condition(hub, "KnativeEventing", ["TargetClusterResolved", { reason }]);
  await remove(hub, "KnativeEventing");
  await condition(hub, "KnativeEventing", [
    "TargetClusterResolved",
    { status: "False", reason, message: /force-orphan=/ },
  ]);
  await scene().controller.kill();
  scene().controller = await scene().startController();
  await scene().controller.logged({ msg: "Reconcile failed again", uid: metadata.uid });
  expect(differencesOf(before, await dumpOfComponent(spoke, metadata.uid))).toEqual([]);
  await fleet.addProfile(spoke, { plugin: "secretreader" });
  await gone(hub, "KnativeEventing");
  expect(await installed(spoke, metadata.uid)).toEqual([]);
});

test("a component whose namespace on the hub is deleted goes with its installation, although nothing can be written there any more", async () => {
  const { hub, fleet, profiles } = scene();
  const { metadata } = await create(hub, { kind: "KnativeEventing", on: profiles[0] });
  await ready(hub, "KnativeEventing");
  const key = { apiVersion: "v1", kind: "Namespace", name: "knative-eventing" };
  await hub.admin.remove(key);
  await gone(hub, "KnativeEventing");
  expect(await installed(fleet.spoke(0), metadata.uid)).toEqual([]);
  await expect.poll(() => hub.admin.get(key), { timeout: 120_000 }).toBeUndefined();
});

test("D-06: on the hub itself nothing is swallowed: what cannot go keeps the component and is named", async () => {
  const { hub } = scene();
  const before = await inventoryOf(hub);
  const { metadata } = await create(hub, { kind: "KnativeEventing" });
  await ready(hub, "KnativeEventing");
  const owners = (await installed(hub, metadata.uid))
    .filter((object) => object.metadata.namespace === "knative-eventing")
    .map((object) => object.metadata.ownerReferences?.[0]?.uid);
  expect(new Set(owners)).toEqual(new Set([metadata.uid]));
  const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name: "thin" };
  await hub.admin.patch(role, { metadata: { finalizers: ["example.com/hold"] } });
  try {
    await remove(hub, "KnativeEventing");
    const message = /ClusterRole thin \(finalizer example\.com\/hold\)$/;
    const wanted = { status: "False", reason: "ClusterBusy", message };
    await condition(hub, "KnativeEventing", ["InstallSucceeded", wanted]);
  } finally {
    await hub.admin.patch(role, { metadata: { finalizers: null } });
  }
  await gone(hub, "KnativeEventing");
  expect(await installed(hub, metadata.uid)).toEqual([]);
  await expect.poll(() => leftovers(hub, before), { timeout: 60_000 }).toEqual([]);
});
