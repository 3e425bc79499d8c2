import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import type { HubConnection } from "../../../access/hub/hub.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { keyOf, type Manifest, type ObjectKey } from "../../../api/kubernetes.ts";
import type { Target } from "../../../controller/target/target.ts";
import { finalize, type FinalizeDeps } from "../../../controller/uninstall/finalize.ts";
import { anchorAnnotations, componentUidLabel } from "../../../installation/anchor.ts";
import { encodeInventory } from "../../../installation/inventory.ts";
import type { AdminClient } from "../../fleet/admin-client.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { silentLog } from "../../support/silent-log.ts";
import {
  connectAs,
  definitionOf,
  eventing,
  existing,
  imageDefinition,
  installByHand,
  namespaceOf,
  remoteTarget,
  userAgent,
  type Installation,
} from "../hand-made-installation.ts";

const fleet = useFleet({
  spokes: [{ kwok: false, admissionWebhooks: true }],
});
const { signal } = new AbortController();

let admin: AdminClient;
let spoke: HubConnection;
let hub: HubConnection;

beforeAll(async () => {
  admin = fleet().spoke(0).admin;
  spoke = await connectAs(fleet().spoke(0), "controller", { clusterRoles: ["knfleet-spoke"] });
  const rules = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
  hub = await connectAs(fleet().hub, "local-controller", { rules });
});

afterAll(async () => {
  await spoke[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});

function install(
  word: string,
  options: { readonly client?: Target["client"]; readonly kinds?: readonly string[] } = {},
): Promise<Installation> {
  const { client = spoke.client, ...rest } = options;
  return installByHand({
    component: eventing(word),
    target: remoteTarget(client, word),
    admin,
    ...rest,
  });
}

function finalized(
  { component, target }: Pick<Installation, "component" | "target">,
  deps: Partial<FinalizeDeps> = {},
): Promise<{ readonly removed: number }> {
  return finalize({ component, target }, { clock: systemClock, log: silentLog, ...deps }, signal);
}

function configMap(namespace: string, name: string, metadata: object = {}): Manifest {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name, ...metadata } };
}

describe("an installation", () => {
  test("D-07: goes as a whole by its inventory, without any release, and nothing else does", async () => {
    const installed = await install("whole");
    const neighbour = await install("neighbour", { kinds: ["ConfigMap", "ClusterRole"] });
    const users = configMap("whole", "of-a-user");
    await admin.create(users);

    const { removed } = await finalized(installed);

    expect(removed).toBe(installed.keys.length);
    expect(await existing(admin, [...installed.keys, installed.anchor.key])).toEqual([]);
    const stays = [keyOf(imageDefinition), keyOf(namespaceOf("whole")), keyOf(users)];
    const others = [...neighbour.keys, neighbour.anchor.key];
    expect(await existing(admin, [...stays, ...others])).toHaveLength(stays.length + others.length);
  });

  test("goes with its webhook configurations first, and with one request a collection", async () => {
    const installed = await install("in-order");
    await vi.waitFor(
      () => expect(deletionOfImage("in-order")).rejects.toThrow("refuses.example.com"),
      60_000,
    );
    const since = new Date();
    await finalized(installed);
    const requests = await fleet().spoke(0).auditLog.requests({ userAgent, since });
    const collections = requests.filter(({ verb }) => verb === "deletecollection");
    expect(collections[0]?.resource).toBe("validatingwebhookconfigurations");
    expect(collections).toHaveLength(installed.keys.length);
    expect(requests.filter(({ verb }) => verb === "delete").map(({ name }) => name)).toEqual([
      installed.anchor.key.name,
    ]);
  });

  test("is no work when it is gone already", async () => {
    const installed = await install("twice", { kinds: ["ConfigMap"] });
    await finalized(installed);
    expect(await finalized(installed)).toEqual({ removed: 0 });
  });

  test("that never was is no work", async () => {
    const component = eventing("never");
    const target = remoteTarget(spoke.client, "never");
    expect(await finalized({ component, target })).toEqual({ removed: 0 });
  });
});

describe("an interrupted removal", () => {
  const kinds = ["ConfigMap", "ClusterRole", "ValidatingWebhookConfiguration"];

  test.each([1, 2, 3, 4, 5])(
    "is completed after the end of the process at write %i",
    async (at) => {
      const { target, ...rest } = await install(`killed-${at}`, { kinds });
      const dying = { ...target, client: dyingAt(target.client, at) };
      await expect(finalized({ ...rest, target: dying })).rejects.toThrow("killed");
      await finalized({ ...rest, target });
      expect(await existing(admin, [...rest.keys, rest.anchor.key])).toEqual([]);
    },
  );

  test("is completed when the anchor went, but not what it names", async () => {
    const installed = await install("rootless", { kinds: ["ClusterRole", "ClusterRoleBinding"] });
    await admin.remove(installed.anchor.key, { orphan: true });
    expect(await finalized(installed)).toEqual({ removed: 2 });
    expect(await existing(admin, installed.keys)).toEqual([]);
  });

  test("is completed when the inventory cannot be read", async () => {
    const installed = await install("unreadable");
    await admin.patch(installed.anchor.key, { data: { inventory: "{" } });
    await finalized(installed);
    expect(await existing(admin, [...installed.keys, installed.anchor.key])).toEqual([]);
  });

  test("is completed when somebody took entries out of the inventory", async () => {
    const installed = await install("shortened", { kinds: ["Secret", "ClusterRole"] });
    const inventory = '{"format":1,"version":"1.23.0","complete":true,"objects":{}}';
    await admin.patch(installed.anchor.key, { data: { inventory } });
    await finalized(installed);
    expect(await existing(admin, installed.keys)).toEqual([]);
  });
});

describe("somebody else's anchor", () => {
  test.each([
    ["another-hub", anchorAnnotations.hubId],
    ["another-component", anchorAnnotations.componentUid],
  ])("of %s is a conflict, and nothing is touched", async (word, annotation) => {
    const installed = await install(word, { kinds: ["ConfigMap", "ClusterRole"] });
    await admin.patch(installed.anchor.key, {
      metadata: { annotations: { [annotation]: "other" } },
    });
    await expect(finalized(installed)).rejects.toMatchObject({ reason: "AnchorConflict" });
    const keys = [...installed.keys, installed.anchor.key];
    expect(await existing(admin, keys)).toHaveLength(keys.length);
  });

  test("does not hold a component of which nothing was ever installed", async () => {
    const installed = await install("refused", { kinds: ["ConfigMap"] });
    for (const key of installed.keys) await admin.remove(key);
    const annotations = { [anchorAnnotations.hubId]: "other" };
    await admin.patch(installed.anchor.key, { metadata: { annotations } });
    const left = `ConfigMap refused/${installed.anchor.key.name}`;
    expect(await finalized(installed)).toEqual({ removed: 0, left });
    expect(await existing(admin, [installed.anchor.key])).toHaveLength(1);
  });

  test("that takes the place of ours at the last moment stays", async () => {
    const { target, ...rest } = await install("replaced", { kinds: ["ConfigMap"] });
    const foreign = configMap("replaced", rest.anchor.key.name, {
      annotations: {
        [anchorAnnotations.hubId]: "other",
        [anchorAnnotations.componentUid]: "other",
      },
    });
    const client = beforeRemoving(target.client, async () => {
      await admin.remove(rest.anchor.key);
      await admin.create(foreign);
    });
    const replaced = finalized({ ...rest, target: { ...target, client } });
    await expect(replaced).rejects.toMatchObject({ reason: "AnchorConflict" });
    expect(await existing(admin, [rest.anchor.key])).toHaveLength(1);
  });
});

describe("an object that lost our label", () => {
  test("goes when it is still ours, and stays when it is not", async () => {
    const installed = await install("strays", { kinds: ["ConfigMap", "Secret", "ClusterRole"] });
    const labels = { [componentUidLabel]: null };
    for (const key of installed.keys) await admin.patch(key, { metadata: { labels } });
    const secret = keyNamed(installed, "Secret");
    await admin.patch(secret, { metadata: { ownerReferences: null } });
    await finalized(installed);
    expect(await existing(admin, installed.keys)).toEqual([`Secret ${secret.name}`]);
  });
});

describe("what holds an object back", () => {
  test("is waited for, named, and no reason to forget the anchor", async () => {
    const installed = await install("held", { kinds: ["ConfigMap", "Secret"] });
    const key = keyNamed(installed, "ConfigMap");
    await admin.patch(key, { metadata: { finalizers: ["example.com/hold"] } });
    await expect(finalized(installed, { patienceMs: 200 })).rejects.toMatchObject({
      reason: "ClusterBusy",
      message: "Waiting for the deletion of ConfigMap held/thing (finalizer example.com/hold)",
    });
    expect(await existing(admin, [installed.anchor.key])).toHaveLength(1);
    await admin.patch(key, { metadata: { finalizers: null } });
    await finalized(installed);
    expect(await existing(admin, [...installed.keys, installed.anchor.key])).toEqual([]);
  });

  test("a missing right to delete collections is replaced by single deletions", async () => {
    const verbs = ["get", "list", "create", "update", "patch", "delete"];
    const everything = { apiGroups: ["*"], resources: ["*"], verbs };
    await using careful = await connectAs(fleet().spoke(0), "careful", { rules: [everything] });
    const installed = await install("one-by-one", { client: careful.client });
    const { removed } = await finalized(installed);
    expect(removed).toBe(installed.keys.length);
    expect(await existing(admin, [...installed.keys, installed.anchor.key])).toEqual([]);
  });

  test("a missing right to delete is said, with kind and namespace", async () => {
    const everything = {
      apiGroups: ["*"],
      resources: ["*"],
      verbs: ["get", "list", "create", "patch"],
    };
    await using reader = await connectAs(fleet().spoke(0), "reader", { rules: [everything] });
    const installed = await install("no-right", { client: reader.client, kinds: ["ConfigMap"] });
    await expect(finalized(installed)).rejects.toMatchObject({
      reason: "ApplyFailed",
      message:
        "[Forbidden] Deleting configmaps in namespace no-right is not allowed on the target cluster",
    });
  });
});

describe("a kind that the controller has no right to", () => {
  const entry = { apiVersion: "example.com/v1", kind: "Widget", namespace: "rights", name: "one" };

  beforeAll(async () => {
    await admin.apply(definitionOf("example.com", "v1", { Widget: "widgets" }));
    await vi.waitFor(() => admin.list({ ...entry }), 30_000);
  });

  async function installWith(word: string, marks: object): Promise<Installation> {
    const installed = await install(word, { kinds: ["ConfigMap"] });
    const entries = [
      ...(installed.anchor.inventory?.entries ?? []),
      { ...entry, hash: "", ...marks },
    ];
    const inventory = encodeInventory({ version: "1.23.0", complete: false, entries });
    await admin.patch(installed.anchor.key, { data: { inventory } });
    return installed;
  }

  test("is no obstacle when nothing of it was ever accepted", async () => {
    const installed = await installWith("intended", {});
    await finalized(installed);
    expect(await existing(admin, [...installed.keys, installed.anchor.key])).toEqual([]);
  });

  test("is one when something of it was installed", async () => {
    const installed = await installWith("accepted", { fingerprint: "print" });
    await expect(finalized(installed)).rejects.toMatchObject({
      reason: "ApplyFailed",
      message: expect.stringMatching(/^\[Forbidden\] Listing widgets .*is not allowed/),
    });
    expect(await existing(admin, [installed.anchor.key])).toHaveLength(1);
  });
});

test("on the hub itself the component's own anchor goes last, and the component stays", async () => {
  const hubAdmin = fleet().hub.admin;
  await hubAdmin.apply(namespaceOf("local"));
  const { apiVersion, kind, metadata } = eventing("local");
  const { namespace, name } = metadata;
  const created = await hubAdmin.create({ apiVersion, kind, metadata: { namespace, name } });
  const component = { ...eventing("local"), metadata: { ...metadata, uid: created.metadata.uid } };
  const { profile: _profile, ...target } = remoteTarget(hub.client, "local");
  const installed = await installByHand({ component, target, admin: hubAdmin });
  await finalized(installed);
  expect(await existing(hubAdmin, [...installed.keys, installed.anchor.key])).toEqual([]);
  expect(await existing(hubAdmin, [{ apiVersion, kind, namespace, name }])).toHaveLength(1);
});

/** Asks without doing it. */
function deletionOfImage(namespace: string): Promise<unknown> {
  const path = `/apis/caching.internal.knative.dev/v1alpha1/namespaces/${namespace}/images/thing`;
  return admin.request("DELETE", `${path}?dryRun=All`);
}

function keyNamed({ keys }: Installation, kind: string): ObjectKey {
  const key = keys.find((candidate) => candidate.kind === kind);
  if (key === undefined) throw new Error(`No ${kind} was installed`);
  return key;
}

/** A client whose process ends right after its nth write was answered. */
function dyingAt(client: Target["client"], write: number): Target["client"] {
  let writes = 0;
  const counted = async <T>(answer: Promise<T>): Promise<T> => {
    const value = await answer;
    writes += 1;
    if (writes >= write) throw new Error("killed");
    return value;
  };
  return {
    ...client,
    patch: (...args) => counted(client.patch(...args)),
    remove: (...args) => counted(client.remove(...args)),
    removeCollection: (...args) => counted(client.removeCollection(...args)),
  };
}

/** A client that lets something happen before it deletes a single object. */
function beforeRemoving(client: Target["client"], happens: () => Promise<void>): Target["client"] {
  return {
    ...client,
    remove: async (...args) => {
      await happens();
      return client.remove(...args);
    },
  };
}
