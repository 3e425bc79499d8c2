import { afterEach, describe, expect, test } from "vitest";

import { type ComponentKind, componentKinds, operatorApiVersion } from "../../api/component.ts";
import {
  type KubeObject,
  keyOf as manifestKeyOf,
  type NamespacedName,
  type ObjectKey,
} from "../../api/kubernetes.ts";
import { readAnchor } from "../../controller/apply/anchor/anchor.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import { manifestOf } from "../controller/apply/prepared.ts";
import { renderedOf } from "../controller/apply/small-set.ts";
import { conditionOf } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { dumpOfComponent } from "../support/spoke-dump.ts";
import { componentOf, installed } from "./installation.ts";
import { requestsTo, writesTo } from "./requests.ts";
import { useScene } from "./scene.ts";
import { LoneHub } from "./two-hubs.ts";

const scene = useScene(
  { hub: { kwok: true }, spokes: 1 },
  { flags: ["--remote-deployments-poll-interval=1s", "--spoke-namespace=Component"] },
);
const patience = { timeoutMs: 120_000 };

afterEach(async () => {
  const { hub } = scene();
  const kinds = Object.keys(componentKinds);
  const lists = kinds.map((kind) => hub.admin.list({ apiVersion: operatorApiVersion, kind }));
  const left = (await Promise.all(lists)).flat().map(keyOf);
  await Promise.all(left.map((key) => hub.admin.remove(key)));
  await Promise.all(left.map(gone));
}, 240_000);

function keyOf({ kind, metadata: { namespace = "", name } }: KubeObject): ObjectKey {
  return { apiVersion: operatorApiVersion, kind, namespace, name };
}

/** The usual component of a kind, but in a namespace of choice. */
async function create(
  kind: ComponentKind,
  namespace: string,
  on: NamespacedName | undefined,
): Promise<KubeObject> {
  const { admin } = scene().hub;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const component = componentOf({ kind, ...(on === undefined ? {} : { on }) });
  return admin.create({ ...component, metadata: { ...component.metadata, namespace } });
}

/** Waits until a condition is as wanted, and returns it as a text. */
async function says(
  component: KubeObject,
  type: string,
  wanted: { readonly status: string; readonly reason?: string },
): Promise<string> {
  return waitFor(
    `${type} of ${component.metadata.namespace} to be ${JSON.stringify(wanted)}`,
    async () => {
      const found = conditionOf(await scene().hub.admin.get(keyOf(component)), type);
      const { status, reason = found?.reason } = wanted;
      return found?.status === status && found.reason === reason && JSON.stringify(found);
    },
    patience,
  );
}

async function gone(key: ObjectKey): Promise<void> {
  const isGone = async () => (await scene().hub.admin.get(key)) === undefined;
  await waitFor(`${key.namespace}/${key.name} to be gone`, isGone, patience);
}

test("D-17, D-32: of two components of one kind whose ClusterProfiles mean one cluster the first is installed, and the other one when that has gone", async () => {
  const { hub, fleet, profiles } = scene();
  const spoke = fleet.spoke(0);
  const again = await fleet.addProfile(spoke, { plugin: "kubeconfig-secretreader", name: "again" });
  const both = await Promise.all([
    create("KnativeEventing", "first", profiles[0]),
    create("KnativeEventing", "second", again),
  ]);
  const winner = await waitFor(
    "one of them to be ready",
    async () => {
      const found = await Promise.all(both.map((one) => hub.admin.get(keyOf(one))));
      return found.find((one) => conditionOf(one, "Ready")?.status === "True");
    },
    patience,
  );
  const loser = both.find(({ metadata }) => metadata.uid !== winner.metadata.uid);
  if (loser === undefined) throw new Error("There are two");
  const why = await says(loser, "InstallSucceeded", {
    status: "False",
    reason: "DuplicateComponent",
  });
  const { namespace } = winner.metadata;
  expect(why).toContain(
    `KnativeEventing ${namespace}/knative-eventing is installed on the same cluster already, ClusterProfile `,
  );
  expect(await installed(spoke, loser.metadata.uid)).toEqual([]);

  const since = new Date();
  const before = await dumpOfComponent(spoke, winner.metadata.uid);
  await hub.admin.remove(keyOf(loser));
  await gone(keyOf(loser));
  expect(await writesTo(spoke, since)).toEqual([]);
  expect(await dumpOfComponent(spoke, winner.metadata.uid)).toEqual(before);
  expect(conditionOf(await hub.admin.get(keyOf(winner)), "Ready")?.status).toBe("True");

  const next = await create("KnativeEventing", "third", loser === both[0] ? profiles[0] : again);
  await says(next, "InstallSucceeded", { status: "False", reason: "DuplicateComponent" });
  await hub.admin.remove(keyOf(winner));
  await gone(keyOf(winner));
  await says(next, "Ready", { status: "True" });
}, 400_000);

test("D-32: a ClusterProfile that means the hub gives no second installation there", async () => {
  const { fleet, hub } = scene();
  const local = await create("KnativeEventing", "on-the-hub", undefined);
  await says(local, "Ready", { status: "True" });
  const profile = await fleet.addProfile(hub, { plugin: "secretreader", name: "the-hub" });
  const remote = await create("KnativeEventing", "once-more", profile);
  const why = await says(remote, "InstallSucceeded", {
    status: "False",
    reason: "DuplicateComponent",
  });
  expect(why).toContain("KnativeEventing on-the-hub/knative-eventing is installed");
  expect(await installed(hub, remote.metadata.uid)).toEqual([]);
}, 400_000);

test("of both kinds in one namespace, which have ConfigMaps of the same names, one is installed and the other one says why not", async () => {
  const { fleet, profiles } = scene();
  const spoke = fleet.spoke(0);
  const serving = await create("KnativeServing", "shared", profiles[0]);
  await says(serving, "Ready", { status: "True" });
  const before = await dumpOfComponent(spoke, serving.metadata.uid);
  const eventing = await create("KnativeEventing", "shared", profiles[0]);
  const why = await says(eventing, "InstallSucceeded", {
    status: "False",
    reason: "AnchorConflict",
  });
  expect(why).toMatch(
    /ConfigMap shared\/config-\S+ belongs to the installation of KnativeServing shared\/knative-serving/,
  );
  expect(await installed(spoke, eventing.metadata.uid)).toEqual([]);
  expect(await dumpOfComponent(spoke, serving.metadata.uid)).toEqual(before);
  await says(serving, "Ready", { status: "True" });
}, 400_000);

test("D-32: far away it is asked who was first while the anchor is made, and the namespace is not looked at before it is made", async () => {
  const { fleet, profiles } = scene();
  const spoke = fleet.spoke(0);
  const rttMs = 600;
  spoke.proxy.setRtt(rttMs);
  const since = new Date();
  try {
    const component = await create("KnativeEventing", "far-away", profiles[0]);
    await says(component, "Ready", { status: "True" });
  } finally {
    spoke.proxy.setRtt(0);
  }
  const requests = await requestsTo(spoke, since);
  const made = requests.findIndex(
    ({ verb, resource, code }) => verb === "create" && resource === "configmaps" && code === 201,
  );
  const anchor = requests[made];
  const [question] = requests.slice(made + 1).filter(({ verb }) => verb === "list");
  if (anchor === undefined || question === undefined) throw new Error("Nothing was asked");
  expect(question.resource).toBe("configmaps");
  expect(question.receivedAt.getTime() - anchor.receivedAt.getTime()).toBeLessThan(rttMs);
  const ofNamespaces = requests.filter(
    ({ verb, resource }) => resource === "namespaces" && verb !== "watch",
  );
  expect(ofNamespaces.map(({ verb }) => verb)).toEqual(["create"]);
}, 400_000);

/** Hubs that both want one ClusterRole and a definition, the hub that has the role, and who wrote the definition. */
async function rivals(word: string) {
  const spoke = scene().fleet.spoke(0);
  const name = `shared-${word}`;
  const role = manifestOf(`rbac.authorization.k8s.io/v1 ClusterRole ${name}`, { rules: [] });
  const kind = `Shared${word.replaceAll("-", "")}`;
  const names = { kind, plural: `${kind.toLowerCase()}s` };
  const schema = { openAPIV3Schema: { type: "object" } };
  const versions = [{ name: "v1", served: true, storage: true, schema }];
  const definition = manifestOf(
    `apiextensions.k8s.io/v1 CustomResourceDefinition ${names.plural}.test.dev`,
    { spec: { group: "test.dev", scope: "Cluster", names, versions } },
  );
  const rendered = renderedOf(definition, role);
  const open = (hubId: string) => LoneHub.open(spoke, `${hubId}-${word}`, rendered);
  const [one, other] = [await open("one"), await open("other")];
  const holder = async (): Promise<string | undefined> => {
    return (await spoke.admin.get(manifestKeyOf(role)))?.metadata.labels?.[componentUidLabel];
  };
  const writers = async (): Promise<readonly string[]> => {
    const live = await spoke.admin.get(manifestKeyOf(definition));
    const managers = live?.metadata.managedFields?.map(({ manager = "" }) => manager) ?? [];
    return managers.filter((manager) => manager.startsWith("knfleet-"));
  };
  return { one, other, holder, writers };
}

const limit = (): AbortSignal => AbortSignal.timeout(60_000);

describe("D-32: of two hubs that come to one cluster while neither can see the other", () => {
  const refused = {
    reason: "AnchorConflict",
    message: expect.stringMatching(/^ClusterRole shared-\S+ belongs to the installation of /),
  };
  test("the one whose anchor was there first is installed, and the other one leaves none", async () => {
    const { one, other, holder, writers } = await rivals("in-turn");
    await using _ = one;
    await using __ = other;
    const won = await one.install(async () => {
      await expect(other.install()).rejects.toMatchObject(refused);
      expect(await writers()).toEqual([]);
    });
    expect(won.applied).toHaveLength(2);
    expect(await writers()).toEqual(["knfleet-one-in-turn"]);
    expect(await holder()).toBe(one.installer.component.metadata.uid);
    const { component, target } = other.installer;
    expect(await readAnchor(component, target, limit())).toBeUndefined();
  });

  test("exactly one is installed when both come at the same moment", async () => {
    const { one, other, holder, writers } = await rivals("at-once");
    await using _ = one;
    await using __ = other;
    const ends = await Promise.allSettled([one.install(), other.install()]);
    const lost = ends.filter((end) => end.status === "rejected").map(({ reason }) => reason);
    expect(lost).toEqual([expect.objectContaining(refused)]);
    const winner = ends[0].status === "fulfilled" ? one : other;
    expect(await holder()).toBe(winner.installer.component.metadata.uid);
    expect(await writers()).toEqual([winner.installer.target.fieldManager]);
  });

  test("one that died before it had asked does so when it begins again", async () => {
    const { one, other, holder } = await rivals("again");
    await using _ = one;
    await using __ = other;
    const died = new Error("It died");
    await one.install(() => expect(other.install(() => Promise.reject(died))).rejects.toBe(died));
    const { component, target } = other.installer;
    expect(await readAnchor(component, target, limit())).toBeDefined();
    await other.installer.restart();
    await expect(other.install()).rejects.toMatchObject(refused);
    expect(await readAnchor(component, target, limit())).toBeUndefined();
    expect(await holder()).toBe(one.installer.component.metadata.uid);
    expect((await one.install()).applied).toEqual([]);
  });
});
