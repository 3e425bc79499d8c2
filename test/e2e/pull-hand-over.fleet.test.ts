import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  agentWorkName,
  componentWorkName,
  deliveryAnnotation,
  managedClusterAnnotation,
  workApiVersion,
} from "../../api/delivery.ts";
import { objectId } from "../../api/keys.ts";
import { keyOf, type KubeObject } from "../../api/kubernetes.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import { agentNamespace } from "../../controller/pull/agent.ts";
import { guardLabels } from "../../installation/anchor.ts";
import { rowsOf, runKnfleet } from "../cmd/kubectl/run-knfleet.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { applyFile } from "../fleet/hub-access.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { clusterObjects } from "../support/cluster-objects.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";
import { useStory } from "../support/use-story.ts";
import {
  change,
  componentOf,
  condition,
  create,
  gone,
  installed,
  inventoryOf,
  leftovers,
  read,
  ready,
  remove,
} from "./installation.ts";
import { giveWayIn, keepWhileUsed, playAgent, pullFlags, usePullScene } from "./pull-scene.ts";

const kind = "KnativeServing";
const name = "knative-serving";
const target = ["ks/knative-serving", "-n", name];
const scene = usePullScene();
// One component goes from push to pull and back.
useStory();
const stack = new AsyncDisposableStack();

const releaseDir = sampleDirOf();
let before: ReadonlySet<string>;
let controller: ControllerProcess;
/** The controller on the spoke. */
let local: ControllerProcess;
/** What has to survive a hand-over. */
let lasting: readonly string[];

beforeAll(async () => {
  const { fleet, hub, spoke } = scene();
  const kubeconfig = await fleet.controllerKubeconfig();
  await applyFile(hub, join(import.meta.dirname, "../../docs/pull-role.yaml"));
  // Of one cluster, that can be dialled and has an agent.
  const on = await giveWayIn(fleet, spoke, "fleet");
  before = await inventoryOf(spoke);
  const options = { kubeconfig, providerFile: await fleet.providerFile(), releaseDir };
  controller = stack.use(await startControllerProcess({ ...options, flags: pullFlags }));
  await create(hub, { kind, on });
  await condition(hub, kind, ["AnchorProtected", { status: "True" }]);
  lasting = await marksOf((await ready(hub, kind)).metadata.uid);
}, 600_000);

afterAll(() => stack.disposeAsync());

// What others make of it, with the labels that it has.
const others = ["ReplicaSet", "Pod", "EndpointSlice", "AppliedManifestWork"];

/** Identity, uid and generation of everything that a component installed on the spoke. Few kinds have no generation. */
async function marksOf(uid: string): Promise<readonly string[]> {
  const objects = await installed(scene().spoke, uid);
  return objects
    .filter(({ kind: one }) => !others.includes(one))
    .map((object) => {
      return `${objectId(keyOf(object))} ${object.metadata.uid} ${object.metadata.generation}`;
    })
    .toSorted();
}

/** The objects of the spoke of which a field belongs to the controller of a cluster. */
async function managedBy({ admin }: Cluster): Promise<readonly string[]> {
  const key = { apiVersion: "v1", kind: "Namespace", name: "kube-system" };
  const manager = `knfleet-${(await admin.get(key))?.metadata.uid.slice(0, 8)}`;
  const objects = await clusterObjects(scene().spoke);
  return objects
    .filter(({ metadata }) => metadata.managedFields?.some((one) => one.manager === manager))
    .map((object) => objectId(keyOf(object)));
}

async function anchors(): Promise<readonly KubeObject[]> {
  const maps = await scene().spoke.admin.list({ apiVersion: "v1", kind: "ConfigMap" });
  return maps.filter(({ metadata }) => metadata.name.endsWith("-root-owner"));
}

async function deliver(how: "Push" | "Pull"): Promise<void> {
  const metadata = { annotations: { [deliveryAnnotation]: how } };
  await scene().hub.admin.patch(keyOf(componentOf({ kind })), { metadata });
}

/** What must not have happened on either side: nothing was lost, and nobody fought. */
function expectNoTrouble(): void {
  for (const one of [controller, local]) {
    expect(one.logLines({ level: "error" })).toEqual([]);
    expect(one.stdout).not.toContain("Put right what was deleted or changed");
  }
}

test("from push to pull, the controller of the spoke takes over what the hub installed, and nothing restarts", async () => {
  const { hub, spoke } = scene();
  const [anchor] = await anchors();
  const hubUid = (await read(hub, kind))?.metadata.uid ?? "";
  await deliver("Pull");
  const stopped = {
    status: "Unknown",
    message: /the hub does not manage the installation any more$/,
  };
  await condition(hub, kind, ["InstallSucceeded", stopped]);
  const pod = { namespace: agentNamespace, name: agentWorkName, releaseDir };
  local = stack.use(await playAgent(spoke, pod));
  const { metadata } = await ready(spoke, kind);
  await waitFor("the hub to say so", async () => {
    const annotations = (await read(hub, kind))?.metadata.annotations;
    return annotations?.[managedClusterAnnotation] === spoke.name;
  });
  await ready(hub, kind);
  expect(await marksOf(metadata.uid)).toEqual(lasting);
  expect(await marksOf(hubUid)).toEqual([]);
  expect(await managedBy(hub)).toEqual([]);
  expect(await anchors()).toMatchObject([
    { metadata: { uid: anchor?.metadata.uid, ownerReferences: [{ uid: metadata.uid }] } },
  ]);
  const policies = await spoke.admin.list({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
  });
  expect(policies).toEqual([]);
  const space = await spoke.admin.get({ apiVersion: "v1", kind: "Namespace", name });
  expect(space?.metadata.labels).not.toHaveProperty([guardLabels.namespace]);
  expectNoTrouble();
});

function knfleet(file: string, ...args: readonly string[]): ReturnType<typeof runKnfleet> {
  const KUBECONFIG = scene().hub.adminKubeconfigPath;
  return runKnfleet(args, { env: { KUBECONFIG, KNFLEET_PROVIDER_FILE: file } });
}

describe("kubectl knfleet", () => {
  let withWay: string;
  let withoutWay: string;
  beforeAll(async () => {
    const { fleet } = scene();
    withWay = await fleet.providerFile();
    withoutWay = join(fleet.folder, "no-providers.json");
    await writeFile(withoutWay, JSON.stringify({ providers: [] }), { mode: 0o600 });
  });
  test("dials a cluster that pulls where there is a way, and else tells what it told the hub", async () => {
    const [dialled, told] = await Promise.all([
      knfleet(withWay, "status", "-A"),
      knfleet(withoutWay, "status", "-A"),
    ]);
    expect(rowsOf(dialled.stdout)).toMatchObject([{ HUB: "Ready", LIVE: "Ready" }]);
    expect(rowsOf(told.stdout)).toMatchObject([{ HUB: "Ready", LIVE: "Ready (feedback)" }]);
  });

  test("compares with what the controller of the spoke sent, where there is a way", async () => {
    expect(await knfleet(withWay, "diff", ...target)).toMatchObject({ exitCode: 0, stdout: "" });
  });

  test("tells the same of a bundle", async () => {
    const bundle = join(scene().fleet.folder, "pulled.tar.gz");
    await knfleet(withoutWay, "gather", "-A", "-o", bundle);
    const { stdout } = await knfleet(withoutWay, "status", "-A", `--bundle=${bundle}`);
    expect(rowsOf(stdout)).toMatchObject([{ HUB: "Ready", LIVE: "Ready (feedback)" }]);
  });

  test("walks along the works, and names the agent", async () => {
    const [walk, version] = await Promise.all([
      knfleet(withoutWay, "diagnose", ...target, "-o", "json"),
      knfleet(withoutWay, "version", "--no-live"),
    ]);
    const hops = valueAt(JSON.parse(walk.stdout), "items", 0, "hops");
    const of = (id: string): unknown =>
      (Array.isArray(hops) ? hops : []).find((hop: unknown) => valueAt(hop, "id") === id);
    for (const id of ["work", "accepted", "applied", "feedback"]) {
      expect(of(id)).toMatchObject({ state: "OK" });
    }
    expect(version.stdout).toContain("Agent Version: 0.1.0 (1 cluster)");
  });
});

test("a version that the controller of the spoke does not have is told by it", async () => {
  const { hub } = scene();
  await change(hub, kind, { version: "1.23.99" });
  const message = /the manifests of the target version 1\.23\.99 are not available/;
  const told = await condition(hub, kind, ["InstallSucceeded", { status: "False", message }]);
  expect(conditionOf(told, "TargetClusterResolved")?.status).toBe("True");
  await change(hub, kind, { version: "1.23" });
  await ready(hub, kind);
});

test("an annotation that is taken off on the hub goes from the work and from the spoke", async () => {
  const { hub, spoke } = scene();
  const uid = (await read(hub, kind))?.metadata.uid ?? "";
  const work = {
    apiVersion: workApiVersion,
    kind: "ManifestWork",
    namespace: spoke.name,
    name: componentWorkName({ kind, metadata: { uid } }),
  };
  const kept = async () => {
    const objects = [await hub.admin.get(work), await read(spoke, kind)];
    return objects.map((object) => {
      const text = JSON.stringify({
        ...object,
        metadata: { ...object?.metadata, managedFields: [] },
      });
      return text.includes("knfleet.dev/keep-while-used");
    });
  };
  await keepWhileUsed(hub, "true");
  await expect.poll(kept).toEqual([true, true]);
  await keepWhileUsed(hub, null);
  await expect.poll(kept).toEqual([false, false]);
});

test("from pull to push, the hub takes it back once the controller of the spoke has let go, and nothing restarts", async () => {
  const { hub, spoke } = scene();
  const pulled = await read(spoke, kind);
  await deliver("Push");
  await gone(spoke, kind);
  await condition(hub, kind, ["AnchorProtected", { status: "True" }]);
  const { metadata } = await ready(hub, kind);
  expect(await marksOf(metadata.uid)).toEqual(lasting);
  expect(await marksOf(pulled?.metadata.uid ?? "")).toEqual([]);
  expect(await managedBy(spoke)).toEqual([]);
  expect((await anchors()).map((one) => one.metadata.ownerReferences)).toEqual([undefined]);
  await waitFor("all works to go", async () => {
    const works = { apiVersion: workApiVersion, kind: "ManifestWork", namespace: spoke.name };
    return (await hub.admin.list(works)).length === 0;
  });
  expect((await read(hub, kind))?.metadata.annotations).not.toHaveProperty([
    managedClusterAnnotation,
  ]);
  await local.stop();
});

test("a removal is complete, also on the way to pull when no controller of the spoke has come", async () => {
  const { hub, spoke } = scene();
  await deliver("Pull");
  const agent = { apiVersion: workApiVersion, kind: "ManifestWork", name: agentWorkName };
  await waitFor("the agent", () => hub.admin.get({ ...agent, namespace: spoke.name }));
  await remove(hub, kind);
  await gone(hub, kind);
  await waitFor("the agent to go", async () => {
    return (await hub.admin.get({ ...agent, namespace: spoke.name })) === undefined;
  });
  expect(await leftovers(spoke, before)).toEqual([`|Namespace||${agentNamespace}`]);
});
