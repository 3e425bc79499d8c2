import { afterEach, beforeAll, describe, expect, test } from "vitest";

import type { KubeObject, Manifest, ObjectKey } from "../../api/kubernetes.ts";
import { workloadFactOf } from "../../cmd/kubectl/spokes/workload-fact.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { change, condition, create, observed, ready } from "./installation.ts";
import { testStatefulSets } from "./readiness-of-stateful-sets.ts";
import { requestsTo } from "./requests.ts";
import { useScene } from "./scene.ts";

const scene = useScene(
  { spokes: [{ admissionWebhooks: true }] },
  // An audit comes after a pause that chance lengthens, and what is not ready is looked at ever more rarely.
  { flags: ["--remote-deployments-poll-interval=1s", "--audit-interval=40s"], clockFactor: 4 },
);
const namespace = "knative-eventing";
const name = "eventing-controller";
const deployment: ObjectKey = { apiVersion: "apps/v1", kind: "Deployment", namespace, name };
/** What a test put on the spoke and takes away again. */
const obstacles: ObjectKey[] = [];

beforeAll(async () => {
  const { hub, profiles } = scene();
  await create(hub, { kind: "KnativeEventing", on: profiles[0] });
  await ready(hub, "KnativeEventing");
}, 600_000);

afterEach(async () => {
  await Promise.all(obstacles.map((key) => admin().remove(key)));
  obstacles.length = 0;
  await restart();
  await ready(scene().hub, "KnativeEventing");
}, 600_000);

function admin() {
  return scene().fleet.spoke(0).admin;
}

async function put(manifest: Manifest): Promise<void> {
  const { apiVersion, kind, metadata } = await admin().create(manifest);
  obstacles.push({
    apiVersion,
    kind,
    ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
    name: metadata.name,
  });
}

async function pods(): Promise<readonly KubeObject[]> {
  const labelSelector = `app=${name}`;
  return admin().list({ apiVersion: "v1", kind: "Pod", namespace, labelSelector });
}

/** Deletes the pods of the Deployment; its controller makes new ones at once when it may. */
async function restart(): Promise<void> {
  const keys = (await pods()).map(({ metadata }) => ({ namespace, name: metadata.name }));
  await Promise.all(keys.map((key) => admin().remove({ apiVersion: "v1", kind: "Pod", ...key })));
}

/** Waits until the component says why the Deployment is not available, and returns what `Ready` says. */
async function said(why: string): Promise<unknown> {
  const message = new RegExp(`\\(${RegExp.escape(why)}\\)$`);
  const wanted = { status: "False", reason: "NotReady", message };
  await condition(scene().hub, "KnativeEventing", ["DeploymentsAvailable", wanted]);
  const component = await condition(scene().hub, "KnativeEventing", ["Ready", wanted]);
  return conditionOf(component, "Ready")?.message;
}

function messageOf(why: string): RegExp {
  return new RegExp(`^1 of \\d+ not available: ${name} \\(${RegExp.escape(why)}\\)$`);
}

/** Lets no further pod into the namespace. */
async function forbidPods(): Promise<void> {
  await put({
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { namespace, name: "tight" },
    spec: { hard: { pods: "0" } },
  });
  await waitFor("the quota to count", async () => {
    const key = { apiVersion: "v1", kind: "ResourceQuota", namespace, name: "tight" };
    return valueAt(await admin().get(key), "status", "hard", "pods") === "0";
  });
}

function strategyOf(maxUnavailable: string): Readonly<Record<string, unknown>> {
  return { spec: { strategy: { rollingUpdate: { maxUnavailable } } } };
}

describe("a Deployment that can never become ready is named with the cause:", () => {
  test("an image that cannot be pulled", async () => {
    const [pod] = await pods();
    const key = { apiVersion: "v1", kind: "Pod", namespace, name: String(pod?.metadata.name) };
    const image = "registry.example/eventing-controller:v1";
    const waiting = { reason: "ImagePullBackOff", message: "Back-off pulling image" };
    const container = { name, image, imageID: "", ready: false, restartCount: 0 };
    const conditions = [{ type: "Ready", status: "False" }];
    const containerStatuses = [{ ...container, state: { waiting } }];
    await admin().patch(
      key,
      { status: { conditions, containerStatuses } },
      { subresource: "status" },
    );
    const why = `image ${image} cannot be pulled (ImagePullBackOff)`;
    expect(await said(why)).toMatch(messageOf(why));
  });

  test("a quota", async () => {
    await forbidPods();
    await restart();
    const why = "quota tight is exhausted";
    expect(await said(why)).toMatch(messageOf(why));
  });

  test("a quota, of a Deployment that may miss all its pods", async () => {
    await admin().patch(deployment, strategyOf("100%"));
    try {
      await forbidPods();
      await restart();
      const why = "quota tight is exhausted";
      expect(await said(why)).toMatch(messageOf(why));
      expect(conditionOf(await admin().get(deployment), "Available")?.status).toBe("True");
    } finally {
      await admin().patch(deployment, strategyOf("25%"));
    }
  });

  test("a webhook that lets no pod pass", async () => {
    const rules = [
      { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] },
    ];
    await put({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: { name: "images.policy.example" },
      webhooks: [
        {
          name: "images.policy.example",
          clientConfig: { url: "https://127.0.0.1:1/" },
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          failurePolicy: "Fail",
          rules,
        },
      ],
    });
    // A server takes a moment to heed a new configuration.
    await waitFor("pods to be refused", async () => {
      await restart();
      return conditionOf(await admin().get(deployment), "ReplicaFailure")?.status === "True";
    });
    const why =
      "admission webhook images.policy.example does not answer, so that no pod can be created";
    expect(await said(why)).toMatch(messageOf(why));
  });

  test("no node that takes its pods", async () => {
    const nodes = await admin().list({ apiVersion: "v1", kind: "Node" });
    const cordon = (unschedulable: boolean) =>
      Promise.all(
        nodes.map(({ metadata }) =>
          admin().patch(
            { apiVersion: "v1", kind: "Node", name: metadata.name },
            { spec: { unschedulable } },
          ),
        ),
      );
    await cordon(true);
    try {
      await restart();
      const why = "no node takes its pods (Unschedulable)";
      expect(await said(why)).toMatch(messageOf(why));
    } finally {
      await cordon(false);
    }
  });
});

test("a rollout that cannot go on is named although the old pods are available", async () => {
  const { hub } = scene();
  const [old] = await pods();
  const all = await admin().list({ apiVersion: "v1", kind: "Pod", namespace });
  // Those of finished Jobs do not count.
  const counted = all.filter((pod) => valueAt(pod, "status", "phase") === "Running");
  const quota = { apiVersion: "v1", kind: "ResourceQuota", namespace, name: "tight" };
  const hard = { pods: String(counted.length) };
  await put({ ...quota, metadata: { namespace, name: "tight" }, spec: { hard } });
  const isCounted = async () =>
    valueAt(await admin().get(quota), "status", "used", "pods") === hard.pods;
  await waitFor("the quota to count", isCounted);
  const workloads = [{ name, annotations: { "example.com/note": "another template" } }];
  await change(hub, "KnativeEventing", { workloads });
  try {
    const why = "quota tight is exhausted";
    expect(await said(why)).toMatch(messageOf(why));
    const live = await admin().get(deployment);
    expect(conditionOf(live, "Available")?.status).toBe("True");
    expect((await pods()).map(({ metadata }) => metadata.uid)).toEqual([old?.metadata.uid]);
    // The command line says of the spoke what the controller says.
    expect(live && workloadFactOf(live)).toMatchObject({ state: "notAvailable", progress: why });
    await admin().remove(quota);
    await ready(hub, "KnativeEventing");
    const now = await pods();
    const running = now.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    expect(running).toHaveLength(1);
    expect(running[0]?.metadata.uid).not.toBe(old?.metadata.uid);
  } finally {
    await change(hub, "KnativeEventing", { workloads: null });
  }
});

testStatefulSets(scene);

function scale(replicas: number) {
  return admin().patch(deployment, { spec: { replicas } }, { subresource: "scale" });
}

test("a Deployment that somebody scales to zero is told, and left as it is", async () => {
  const { hub } = scene();
  const type = "DeploymentsAvailable";
  await scale(0);
  try {
    const message = /^Scaled to zero: eventing-controller$/;
    const wanted = { status: "True", reason: "ScaledToZero", message } as const;
    await condition(hub, "KnativeEventing", [type, wanted]);
    await waitFor("the Event", async () => {
      const events = await hub.admin.list({ apiVersion: "v1", kind: "Event", namespace });
      return events.some((event) => event["reason"] === "ScaledToZero");
    });
    await waitFor("the pods to go", async () => (await pods()).length === 0);
    expect(conditionOf(await ready(hub, "KnativeEventing"), type)?.reason).toBe("ScaledToZero");
  } finally {
    await scale(1);
  }
  await condition(hub, "KnativeEventing", [type, { status: "True", message: /^undefined$/ }]);
});

test("a Deployment of which the component wants no pods is not scaled to zero", async () => {
  const { hub } = scene();
  await change(hub, "KnativeEventing", { workloads: [{ name, replicas: 0 }] });
  try {
    await waitFor("the pods to go", async () => (await pods()).length === 0);
    const component = await ready(hub, "KnativeEventing");
    expect(conditionOf(component, "DeploymentsAvailable")?.reason).toBeUndefined();
  } finally {
    await change(hub, "KnativeEventing", { workloads: null });
  }
});

const containersOf = ["spec", "template", "spec", "containers"] as const;

function envOf(object: KubeObject | undefined): readonly unknown[] {
  const env = valueAt(object, ...containersOf, 0, "env");
  return Array.isArray(env) ? env : [];
}

/** Puts the variables of the Deployment into another order, and waits until they are back in ours. */
async function reorderedAndBack(): Promise<void> {
  const env = envOf(await admin().get(deployment));
  expect(env.length).toBeGreaterThan(2);
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`;
  // Refused when a controller wrote in between.
  await waitFor("the order to be changed", async () => {
    const changed = structuredClone(await admin().get(deployment));
    const container = valueAt(changed, ...containersOf, 0);
    Object.assign(container ?? {}, { env: env.toReversed() });
    return admin().request("PUT", path, changed);
  });
  const isBack = async () =>
    JSON.stringify(envOf(await admin().get(deployment))) === JSON.stringify(env);
  await waitFor("the order to be back", isBack, { timeoutMs: 90_000 });
}

test("an audit puts right what leaves no trace: variables in another order", async () => {
  const since = new Date();
  await reorderedAndBack();
  const requests = await requestsTo(scene().fleet.spoke(0), since);
  expect(requests.filter(({ verb }) => verb === "list" || verb === "delete")).toEqual([]);
});

test("an audit comes also to a component of which a Deployment cannot start", async () => {
  const hard = { pods: "0" };
  const metadata = { namespace, name: "tight" };
  await put({ apiVersion: "v1", kind: "ResourceQuota", metadata, spec: { hard } });
  await waitFor("the pod to be refused", async () => {
    await restart();
    return conditionOf(await admin().get(deployment), "ReplicaFailure")?.status === "True";
  });
  const why = "quota tight is exhausted";
  expect(await said(why)).toMatch(messageOf(why));
  await reorderedAndBack();
});

test("a Job that fails is told once, and said while the Job is there", async () => {
  const { hub } = scene();
  // The tests before may have used up the Events that one process writes on a component.
  await scene().controller[Symbol.asyncDispose]();
  scene().controller = await scene().startController();
  const nodeSelector = { "example.com/never": "true" };
  const workloads = [{ name: "storage-version-migration-eventing-", nodeSelector }];
  await change(hub, "KnativeEventing", { workloads });
  const job = await waitFor("the Job that no node takes", async () => {
    const jobs = await admin().list({ apiVersion: "batch/v1", kind: "Job", namespace });
    return jobs.find(
      (one) => valueAt(one, "spec", "template", "spec", "nodeSelector") !== undefined,
    );
  });
  const key = { apiVersion: "batch/v1", kind: "Job", namespace, name: job.metadata.name };
  const since = new Date();
  try {
    await admin().patch(key, { spec: { activeDeadlineSeconds: 1 } });
    const message = `Job ${namespace}/${key.name} failed: DeadlineExceeded`;
    const wanted = { status: "True", message: new RegExp(`^${RegExp.escape(message)}$`) };
    await condition(hub, "KnativeEventing", ["InstallSucceeded", wanted]);
    const told = async () => {
      const events = await hub.admin.list({ apiVersion: "v1", kind: "Event", namespace });
      return events.filter((event) => event["reason"] === "JobFailed");
    };
    await waitFor("the Event", async () => (await told()).length > 0);
    const requests = await requestsTo(scene().fleet.spoke(0), since);
    const asked = requests.filter(({ name: of, verb }) => of === key.name && verb === "get");
    // Kubernetes writes the end of a Job in three steps, which a busy machine takes far apart.
    expect(asked.length).toBeLessThanOrEqual(3);
    // Another change is told of meanwhile in the condition that has the message.
    const news = { "config-features": { "new-trigger-filters": "enabled" } };
    await change(hub, "KnativeEventing", { config: news });
    await observed(hub, "KnativeEventing");
    await condition(hub, "KnativeEventing", ["InstallSucceeded", wanted]);
    await ready(hub, "KnativeEventing");
    const events = await told();
    expect(events.map((event) => [event["message"], event["count"]])).toEqual([[message, 1]]);
  } finally {
    await change(hub, "KnativeEventing", { workloads: null, config: null });
  }
  await condition(hub, "KnativeEventing", [
    "InstallSucceeded",
    { status: "True", message: /^undefined$/ },
  ]);
});
