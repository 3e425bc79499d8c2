import { describe, expect, test } from "vitest";

import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { keyOf, type KubeObject, type Manifest } from "../../../api/kubernetes.ts";
import { readAnchor } from "../../../controller/apply/anchor/anchor.ts";
import { applyRequests } from "../../../controller/apply/apply-requests.ts";
import { finalize } from "../../../controller/uninstall/finalize.ts";
import { prepare } from "../../../installation/desired.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { silentLog } from "../../support/silent-log.ts";
import { eventing, openInstaller } from "./installer.ts";
import { manifestOf } from "./prepared.ts";
import { renderedOf, serviceOf, workload } from "./small-set.ts";

const fleet = useSpokes([{ kwok: false }]);

function bindingTo(namespace: string, role: string): Manifest {
  const apiGroup = "rbac.authorization.k8s.io";
  return manifestOf(`${apiGroup}/v1 RoleBinding ${namespace}/main`, {
    roleRef: { apiGroup, kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", namespace, name: "main" }],
  });
}

function job(namespace: string, image: string): Manifest {
  const spec = { restartPolicy: "Never", containers: [{ name: "main", image }] };
  return manifestOf(`batch/v1 Job ${namespace}/migrate-1.23.0`, { spec: { template: { spec } } });
}

/** What is not written by the cluster's own controllers all the time. */
function wishesOf(object: KubeObject | undefined): unknown {
  const { uid, generation, labels, managedFields = [] } = object?.metadata ?? {};
  const managers = managedFields.filter(({ manager }) => manager !== "kube-controller-manager");
  const fields = managers.map(({ manager, operation }) => `${manager} ${operation}`).toSorted();
  return { uid, generation, labels, spec: object?.["spec"], fields };
}

describe("what cannot be changed", () => {
  test("is made anew where that is safe: a binding with another role, a Job with another image", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "replaced";
    await using opened = await openInstaller(spoke, { component: eventing({}, { namespace }) });
    const { installer } = opened;
    const first = [bindingTo(namespace, "view"), job(namespace, "example.com/a")];
    await installer.install({ rendered: renderedOf(...first) });
    const before = await Promise.all(first.map((one) => spoke.admin.get(keyOf(one))));
    const second = [bindingTo(namespace, "edit"), job(namespace, "example.com/b")];
    const changes = await installer.install({ rendered: renderedOf(...second) });
    expect(changes).toMatchObject({ failed: [], parked: [] });
    const after = await Promise.all(second.map((one) => spoke.admin.get(keyOf(one))));
    expect(valueAt(after[0], "roleRef", "name")).toBe("edit");
    expect(valueAt(after[1], "spec", "template", "spec", "containers", 0, "image")).toBe(
      "example.com/b",
    );
    expect(after.map((object) => object?.metadata.uid)).not.toEqual(
      before.map((object) => object?.metadata.uid),
    );
    expect((await installer.install({ rendered: renderedOf(...second) })).applied).toEqual([]);
  });

  test("waits, and is named, while a finalizer holds what has to go first", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "held";
    await using opened = await openInstaller(spoke, { component: eventing({}, { namespace }) });
    const { installer } = opened;
    const first = job(namespace, "example.com/a");
    const key = keyOf(first);
    await installer.install({ rendered: renderedOf(first) });
    await spoke.admin.patch(key, { metadata: { finalizers: ["example.com/hold"] } });
    const rendered = renderedOf(job(namespace, "example.com/b"), serviceOf(namespace));
    const waiting = [{ key, message: "Waiting for its deletion" }];
    const changes = await installer.install({ rendered });
    expect(changes).toMatchObject({ applied: [{ kind: "Service" }], failed: [], parked: waiting });
    await installer.restart();
    expect(await installer.install({ rendered })).toMatchObject({ failed: [], parked: waiting });
    installer.changes.length = 0;
    await spoke.admin.patch(key, { metadata: { finalizers: null } });
    await waitFor("the end to be seen", async () =>
      installer.changes.some((change) => change.kind === "object" && change.key.kind === "Job"),
    );
    expect(await installer.install({ rendered })).toMatchObject({ applied: [key], failed: [] });
    const image = ["spec", "template", "spec", "containers", 0, "image"] as const;
    expect(valueAt(await spoke.admin.get(key), ...image)).toBe("example.com/b");
  });

  test("is left and named where pods would stop, and holds nothing else", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "selected";
    await using opened = await openInstaller(spoke, { component: eventing({}, { namespace }) });
    const { installer } = opened;
    await installer.install({ rendered: renderedOf(workload(namespace)) });
    const key = keyOf(workload(namespace));
    const before = await spoke.admin.get(key);
    const labels = { app: "other" };
    const template = {
      metadata: { labels },
      spec: { containers: [{ name: "main", image: "example.com/main:2" }] },
    };
    const other = workload(namespace, { selector: { matchLabels: labels }, template });
    const rendered = renderedOf(other, serviceOf(namespace));
    const changes = await installer.install({ rendered });
    expect(changes.applied).toMatchObject([{ kind: "Service" }]);
    expect(changes.failed).toEqual([
      {
        key,
        message: "It cannot be changed, only be deleted and made anew: spec.selector",
      },
    ]);
    expect((await spoke.admin.get(key))?.metadata.uid).toBe(before?.metadata.uid);
    // Doing what the message says helps.
    await spoke.admin.remove(key);
    await waitFor(
      "the Deployment to be gone",
      async () => (await spoke.admin.get(key)) === undefined,
    );
    await waitFor("the change to be seen", async () =>
      installer.changes.some((change) => change.kind === "object" && change.key.name === "main"),
    );
    expect(await installer.install({ rendered })).toMatchObject({ failed: [] });
    expect(valueAt(await spoke.admin.get(key), "spec", "selector", "matchLabels")).toEqual(labels);
  });

  test("is not deleted when somebody else made it", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "foreign";
    await spoke.admin.create(manifestOf(`v1 Namespace ${namespace}`));
    const theirs = await spoke.admin.create(bindingTo(namespace, "view"));
    await using opened = await openInstaller(spoke, { component: eventing({}, { namespace }) });
    const changes = await opened.installer.install({
      rendered: renderedOf(bindingTo(namespace, "edit")),
    });
    expect(changes.failed).toMatchObject([
      { message: "It cannot be changed, only be deleted and made anew: roleRef" },
    ]);
    const live = await spoke.admin.get(keyOf(theirs));
    expect(live?.metadata.uid).toBe(theirs.metadata.uid);
  });
});

test("what another controller owns is left alone and named with it, and holds nothing else", async () => {
  const { admin } = fleet().spoke(0);
  const namespace = "controlled";
  const type = { apiVersion: "v1", kind: "ConfigMap" };
  await admin.create(manifestOf(`v1 Namespace ${namespace}`));
  const boss = await admin.create({ ...type, metadata: { name: "boss", namespace } });
  const owner = { ...type, name: "boss", uid: boss.metadata.uid, controller: true };
  const service = serviceOf(namespace);
  const metadata = { ...service.metadata, labels: { theirs: "yes" }, ownerReferences: [owner] };
  const theirs = await admin.create({ ...service, metadata });
  await using opened = await openInstaller(fleet().spoke(0), {
    component: eventing({}, { namespace }),
  });
  const { installer } = opened;
  const rendered = renderedOf(service, bindingTo(namespace, "view"));
  expect(await installer.install({ rendered })).toMatchObject({
    failed: [{ key: keyOf(service), message: "Something else controls it: ConfigMap boss" }],
    applied: [keyOf(bindingTo(namespace, "view"))],
  });
  expect(await admin.get(keyOf(service))).toEqual(theirs);
  // When the other one lets it go it is taken.
  await admin.patch(keyOf(service), { metadata: { ownerReferences: null } });
  expect(await installer.install({ rendered })).toMatchObject({ failed: [], parked: [] });
  expect((await admin.get(keyOf(service)))?.metadata.labels).toMatchObject({ theirs: "yes" });
});

test("an anchor that somebody made immutable holds nothing up: what it names changes all the same", async () => {
  const spoke = fleet().spoke(0);
  const namespace = "frozen";
  const component = eventing({}, { namespace });
  await using opened = await openInstaller(spoke, { component });
  const { installer } = opened;
  const { target } = installer;
  const service = serviceOf(namespace);
  const binding = bindingTo(namespace, "view");
  await installer.install({ rendered: renderedOf(service) });
  const readIt = () => readAnchor(component, target, AbortSignal.timeout(60_000));
  const before = await readIt();
  if (before === undefined) throw new Error("There is no anchor");
  await spoke.admin.patch(before.key, { immutable: true });
  for (const wanted of [[service, binding], [binding]]) {
    const changes = await installer.install({ rendered: renderedOf(...wanted) });
    expect(changes).toMatchObject({ parked: [], failed: [] });
    const anchor = await readIt();
    expect(anchor?.uid).toBe(before.uid);
    expect(anchor?.inventory?.entries.map(({ kind }) => kind).toSorted()).toEqual(
      wanted.map(({ kind }) => kind).toSorted(),
    );
  }
  expect(await spoke.admin.get(keyOf(service))).toBeUndefined();
  await installer.restart();
  const again = await installer.install({ rendered: renderedOf(binding) });
  expect(again).toMatchObject({ applied: [], unchanged: 1 });
  await finalize(
    { component, target },
    { clock: systemClock, log: silentLog },
    AbortSignal.timeout(120_000),
  );
  expect(await readIt()).toBeUndefined();
  expect(await spoke.admin.get(keyOf(binding))).toBeUndefined();
});

function scalerOf(namespace: string): Manifest {
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "main" };
  return manifestOf(`autoscaling/v2 HorizontalPodAutoscaler ${namespace}/main`, {
    spec: { minReplicas: 2, maxReplicas: 5, scaleTargetRef },
  });
}

describe("the number of pods", () => {
  test("stays as it is also when the Deployment is written in the moment in which it is given up", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "scaled-late";
    await using opened = await openInstaller(spoke, { component: eventing({}, { namespace }) });
    const deployment = workload(namespace, { replicas: 3 });
    await opened.installer.install({ rendered: renderedOf(deployment) });
    const { client } = opened.installer;
    let late = 0;
    const patch: KubeClient["patch"] = async (ref, body, ...others) => {
      if (Array.isArray(body) && ref.resource.kind === "Deployment" && late < 2) {
        late += 1;
        const annotations = { "example.com/late": String(late) };
        await spoke.admin.patch(keyOf(deployment), { metadata: { annotations } });
      }
      return client.patch(ref, body, ...others);
    };
    await using next = opened.installer.beside({ ...client, patch });
    const rendered = renderedOf(deployment, scalerOf(namespace));
    expect(await next.install({ rendered })).toMatchObject({ failed: [], parked: [] });
    expect(late).toBe(2);
    expect(valueAt(await spoke.admin.get(keyOf(deployment)), "spec", "replicas")).toBe(3);
  });

  test("stays as it is when an autoscaler takes it over from us", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "scaled";
    await using opened = await openInstaller(spoke, { component: eventing({}, { namespace }) });
    const { installer } = opened;
    const deployment = workload(namespace, { replicas: 3 });
    await installer.install({ rendered: renderedOf(deployment) });
    const before = await spoke.admin.get(keyOf(deployment));
    const rendered = renderedOf(deployment, scalerOf(namespace));
    expect(await installer.install({ rendered })).toMatchObject({ failed: [], parked: [] });
    const after = await spoke.admin.get(keyOf(deployment));
    expect(valueAt(after, "spec", "replicas")).toBe(3);
    expect(after?.metadata.generation).toBe(before?.metadata.generation);
    await spoke.admin.patch(keyOf(deployment), { spec: { replicas: 5 } }, { subresource: "scale" });
    expect((await installer.install({ rendered })).applied).toEqual([]);
    expect(valueAt(await spoke.admin.get(keyOf(deployment)), "spec", "replicas")).toBe(5);
  });
});

describe("a contested object", () => {
  test("has its contestants named with their fields, and nothing is written by the question", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "disputed";
    const component = eventing({}, { namespace });
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    const rendered = renderedOf(workload(namespace, { replicas: 1 }));
    await installer.install({ rendered });
    const key = keyOf(workload(namespace));
    const live = await spoke.admin.get(key);
    if (live === undefined) throw new Error("Nothing was installed");
    await spoke.admin.patch(key, { spec: { replicas: 4 } }, { subresource: "scale" });
    await spoke.admin.apply(
      {
        apiVersion: key.apiVersion,
        kind: key.kind,
        metadata: { namespace, name: "main" },
        spec: {
          template: { spec: { containers: [{ name: "main", image: "example.com/theirs" }] } },
        },
      },
      { fieldManager: "their-tool" },
    );
    const before = wishesOf(await spoke.admin.get(key));
    const [object] = prepare(rendered).objects;
    if (object === undefined) throw new Error("Nothing is desired");
    const requests = applyRequests({
      client: installer.client,
      fieldManager: installer.target.fieldManager,
      installation: {
        owner: live.metadata.ownerReferences?.[0] ?? Object(undefined),
        namespace,
        componentUid: component.metadata.uid,
      },
      mayExist: true,
      isScaled: () => false,
    });
    const signal = AbortSignal.timeout(60_000);
    expect(await requests.conflictingManagers(object, signal)).toEqual([
      { manager: "knfleet-test-admin (scale)", fields: ["spec.replicas"] },
      {
        manager: "their-tool",
        fields: ['spec.template.spec.containers[name="main"].image'],
      },
    ]);
    expect(wishesOf(await spoke.admin.get(key))).toEqual(before);
    await requests.send(object, signal);
    expect(await requests.conflictingManagers(object, signal)).toEqual([]);
  });
});
