import { afterAll, beforeAll, expect, test } from "vitest";

import { deliveryAnnotation, pulledAnnotations } from "../../api/delivery.ts";
import { identityOf, keyOf, type KubeObject } from "../../api/kubernetes.ts";
import { anchorAnnotations, guardLabels } from "../../installation/anchor.ts";
import { writeControllerKubeconfig } from "../fleet/hub-access.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { clusterObjects } from "../support/cluster-objects.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";
import {
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
import { anyReleaseDir } from "./release-dir.ts";
import { useScene } from "./scene.ts";

const kind = "KnativeServing";
const scene = useScene({ spokes: 1 });
const stack = new AsyncDisposableStack();
const name = "knative-serving";
const anchorKey = {
  apiVersion: "v1",
  kind: "ConfigMap",
  namespace: name,
  name: `knativeserving-${name}-root-owner`,
};

/** What has to survive a hand-over: the objects, and the generation of those that have one. */
let lasting: readonly string[];
let before: ReadonlySet<string>;
let local: ControllerProcess;

const spoke = () => scene().fleet.spoke(0);

beforeAll(async () => {
  const { hub, profiles } = scene();
  // Its account and roles, and the CRDs.
  const options = {
    kubeconfig: await writeControllerKubeconfig(spoke()),
    releaseDir: await anyReleaseDir(),
    flags: ["--install-crds"],
  };
  local = stack.use(await startControllerProcess(options));
  before = await inventoryOf(spoke());
  await create(hub, { kind, on: profiles[0] });
  await condition(hub, kind, ["AnchorProtected", { status: "True" }]);
  const { metadata } = await ready(hub, kind);
  lasting = await marksOf(metadata.uid);
}, 600_000);

afterAll(() => stack.disposeAsync());

/** Identity, uid and generation of everything that a component installed on the spoke. Few kinds have no generation. */
async function marksOf(uid: string): Promise<readonly string[]> {
  const objects = await installed(spoke(), uid);
  return objects
    .filter(({ kind: one }) => !["ReplicaSet", "Pod", "EndpointSlice"].includes(one))
    .map(
      (object) =>
        `${identityOf(keyOf(object))} ${object.metadata.uid} ${object.metadata.generation}`,
    )
    .toSorted();
}

/** The objects of the spoke of which a field belongs to a controller of knfleet, by its field manager. */
async function managedBy(manager: string): Promise<readonly string[]> {
  const objects = await clusterObjects(spoke());
  return objects
    .filter(({ metadata }) => metadata.managedFields?.some((one) => one.manager === manager))
    .map((object) => identityOf(keyOf(object)));
}

async function idOf(cluster: { readonly admin: ReturnType<typeof spoke>["admin"] }) {
  const key = { apiVersion: "v1", kind: "Namespace", name: "kube-system" };
  return (await cluster.admin.get(key))?.metadata.uid ?? "";
}

async function managers() {
  const [hub, own] = await Promise.all([idOf(scene().hub), idOf(spoke())]);
  return { hub: `knfleet-${hub.slice(0, 8)}`, spoke: `knfleet-${own.slice(0, 8)}` };
}

async function anchors(): Promise<readonly KubeObject[]> {
  const maps = await spoke().admin.list({ apiVersion: "v1", kind: "ConfigMap" });
  return maps.filter(({ metadata }) => metadata.name.endsWith("-root-owner"));
}

test("the controller of the spoke takes over what the hub pushed, and nothing restarts", async () => {
  const { hub } = scene();
  const pushed = await read(hub, kind);
  const hubUid = pushed?.metadata.uid ?? "";
  const [anchor] = await anchors();
  // What the hub does before it writes the works.
  await scene().controller.stop();
  const manifest = componentOf({ kind });
  const annotations = {
    [pulledAnnotations.hubId]: await idOf(hub),
    [pulledAnnotations.hubComponentUid]: hubUid,
  };
  await spoke().admin.create({ ...manifest, metadata: { ...manifest.metadata, annotations } });
  const { metadata } = await ready(spoke(), kind);
  expect(await marksOf(metadata.uid)).toEqual(lasting);
  expect(await installed(spoke(), hubUid)).toEqual([]);
  expect(await managedBy((await managers()).hub)).toEqual([]);
  expect(await anchors()).toMatchObject([
    { metadata: { uid: anchor?.metadata.uid, ownerReferences: [{ uid: metadata.uid }] } },
  ]);
  const policies = await spoke().admin.list({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
  });
  expect(policies).toEqual([]);
  const space = await spoke().admin.get({ apiVersion: "v1", kind: "Namespace", name });
  expect(space?.metadata.labels).not.toHaveProperty([guardLabels.namespace]);
  expect(local.logLines({ level: "error" })).toEqual([]);
});

test("the hub takes it back once the controller of the spoke has let go, and nothing restarts", async () => {
  const key = keyOf(componentOf({ kind }));
  const pulled = await spoke().admin.patch(key, {
    metadata: { annotations: { [deliveryAnnotation]: "Push" } },
  });
  await waitFor("the spoke to let go", async () => {
    const anchor = await spoke().admin.get(anchorKey);
    return anchor?.metadata.annotations?.[anchorAnnotations.letGo] === "true";
  });
  const controller = await scene().startController();
  stack.use(controller);
  const { metadata } = (await read(scene().hub, kind)) ?? {};
  const hubUid = metadata?.uid ?? "";
  await waitFor("the hub to take over", async () => {
    const anchor = await spoke().admin.get(anchorKey);
    return anchor?.metadata.annotations?.[anchorAnnotations.componentUid] === hubUid;
  });
  await controller.logged({ msg: "Applied manifests" });
  await condition(scene().hub, kind, ["AnchorProtected", { status: "True" }]);
  await ready(scene().hub, kind);
  expect(await marksOf(hubUid)).toEqual(lasting);
  expect(await installed(spoke(), pulled.metadata.uid)).toEqual([]);
  expect(await managedBy((await managers()).spoke)).toEqual([]);
  expect((await anchors())[0]?.metadata.ownerReferences).toBeUndefined();
  await remove(spoke(), kind);
  await gone(spoke(), kind);
  expect(await marksOf(hubUid)).toEqual(lasting);
});

test("a removal afterwards is complete", async () => {
  await remove(scene().hub, kind);
  await gone(scene().hub, kind);
  expect(await leftovers(spoke(), before)).toEqual([]);
});
