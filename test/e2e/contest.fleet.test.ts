import { beforeAll, expect, test } from "vitest";

import type { KubeObject, Manifest, ObjectKey } from "../../api/kubernetes.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { condition, create, read, ready } from "./installation.ts";
import { requestsTo, writesTo } from "./requests.ts";
import { useScene } from "./scene.ts";

// The pauses of a fight are 10 s and longer, and peace is believed after a minute: of a clock that runs five times as fast.
const clockFactor = 5;
const scene = useScene({ spokes: 1 }, { clockFactor });
const namespace = "knative-serving";
let serving: KubeObject;

beforeAll(async () => {
  const { hub, profiles } = scene();
  serving = await create(hub, { kind: "KnativeServing", on: profiles[0] });
  await ready(hub, "KnativeServing");
}, 600_000);

function spoke() {
  return scene().fleet.spoke(0);
}

const deployment: ObjectKey = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  namespace,
  name: "autoscaler",
};
const label = "app.kubernetes.io/version";

/** What another tool wants of the Deployment. */
const theirs: Manifest = {
  apiVersion: deployment.apiVersion,
  kind: deployment.kind,
  metadata: { namespace, name: deployment.name, labels: { [label]: "theirs" } },
};

async function labelNow(): Promise<unknown> {
  return (await spoke().admin.get(deployment))?.metadata.labels?.[label];
}

/** The other tool puts its value back as soon as it is gone, until the signal aborts. */
async function insist(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if ((await labelNow()) !== "theirs") {
      await spoke().admin.apply(theirs, { fieldManager: "argocd-controller" });
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** When the Deployment was put right, in ms of the controller's clock. */
async function repairsSince(since: Date): Promise<readonly number[]> {
  const writes = await writesTo(spoke(), since);
  // What asks who contests the object is no write, but looks like one in the log.
  return writes
    .filter(({ name, uri }) => name === deployment.name && !uri.includes("dryRun"))
    .map(({ receivedAt }) => receivedAt.getTime() * clockFactor);
}

test("fields of others are left alone, without a request", async () => {
  const { admin } = spoke();
  const since = new Date();
  const hpa = await admin.get({
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    namespace,
    name: "activator",
  });
  expect(hpa?.metadata.labels?.[componentUidLabel]).toBe(serving.metadata.uid);
  const webhooks = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    name: "webhook.serving.knative.dev",
  };
  const scaled = { ...deployment, name: "activator" };
  await admin.patch(scaled, { spec: { replicas: 3 } });
  await admin.patch(scaled, { metadata: { labels: { team: "a" }, annotations: { note: "b" } } });
  const live = await admin.get(webhooks);
  const [first] = Array.isArray(live?.["webhooks"]) ? live["webhooks"] : [];
  const rules = [
    { apiGroups: ["a.b"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["c"] },
  ];
  const clientConfig = { ...first.clientConfig, caBundle: btoa(spoke().caPem) };
  await admin.patch(webhooks, { webhooks: [{ ...first, rules, clientConfig }] });
  await admin.patch({ ...aggregated }, { metadata: { labels: { team: "a" } } });
  // Another change of ours, that comes after all of these, is seen: so were they.
  const ours = { ...deployment, name: "webhook" };
  await admin.patch(ours, { metadata: { labels: { [componentUidLabel]: null } } });
  await waitFor("the label to be back", async () => {
    const after = await admin.get(ours);
    return after?.metadata.labels?.[componentUidLabel] === serving.metadata.uid;
  });
  const written = (await writesTo(spoke(), since)).map(({ name }) => name);
  expect(written).toEqual([ours.name]);
  expect(valueAt(await admin.get(scaled), "spec", "replicas")).toBe(3);
  expect(valueAt(await admin.get(webhooks), "webhooks", 0, "rules")).toMatchObject(rules);
});

const aggregated: ObjectKey = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  name: "knative-serving-admin",
};

test("a fight over an object is reported with manager and fields, slowed down, and over a minute after its end", async () => {
  const { hub } = scene();
  const end = new AbortController();
  const since = new Date();
  const fighting = insist(end.signal);
  const contested = await condition(hub, "KnativeServing", ["Contested", { status: "True" }]);
  expect(conditionOf(contested, "Contested")).toMatchObject({
    reason: "Contested",
    message: `Deployment ${namespace}/autoscaler: Contested by argocd-controller: metadata.labels.${label}`,
  });
  expect(conditionOf(contested, "Ready")?.status).toBe("True");
  await waitFor("the metric to say so", async () =>
    /^knfleet_component_contested\{kind="KnativeServing",.*\} 1$/m.test(
      await scene().controller.metrics(),
    ),
  );
  expect((await repairsSince(since)).length).toBeGreaterThanOrEqual(3);
  // Others are not held up by it.
  const other = { ...deployment, name: "activator" };
  const before = await spoke().admin.get(other);
  await spoke().admin.remove(other);
  await waitFor("the other one to be back", async () => {
    const uid = (await spoke().admin.get(other))?.metadata.uid;
    return uid !== undefined && uid !== before?.metadata.uid;
  });
  expect(await labelNow()).toBe("theirs");
  await waitFor("the fourth repair", async () => (await repairsSince(since)).length >= 4);
  end.abort();
  await fighting;
  await waitFor(
    "peace",
    async () => conditionOf(await read(hub, "KnativeServing"), "Contested") === undefined,
    {
      timeoutMs: 120_000,
    },
  );
  expect(await labelNow()).not.toBe("theirs");
  // Three at once, then after 10 s, 20 s and so on.
  const repairs = await repairsSince(since);
  const pauses = repairs.slice(1).map((at, index) => at - (repairs[index] ?? 0));
  expect(pauses.slice(2).every((ms) => ms > 9_000)).toBe(true);
  // An Event follows the status that it tells of.
  const told = await waitFor("the Event of the peace", async () => {
    const events = await hub.admin.list({ apiVersion: "v1", kind: "Event", namespace });
    const reasons = events.map((event) => event["reason"]);
    return reasons.includes("ContestOver") && reasons;
  });
  expect(told.filter((reason) => reason === "Contested")).toHaveLength(1);
  const requests = await requestsTo(spoke(), since);
  expect(requests.filter(({ verb }) => verb === "list")).toEqual([]);
}, 600_000);

test("a fight goes on as it was when the controller is started anew", async () => {
  const { hub } = scene();
  const end = new AbortController();
  const fighting = insist(end.signal);
  await condition(hub, "KnativeServing", ["Contested", { status: "True" }]);
  await scene().controller[Symbol.asyncDispose]();
  const before = await toldOfContests();
  const since = new Date();
  scene().controller = await scene().startController();
  await waitFor("two more repairs", async () => (await repairsSince(since)).length >= 2);
  end.abort();
  await fighting;
  const [first = 0, second = 0] = await repairsSince(since);
  expect(second - first).toBeGreaterThan(9_000);
  expect(conditionOf(await read(hub, "KnativeServing"), "Contested")?.status).toBe("True");
  expect(await toldOfContests()).toEqual(before);
}, 600_000);

/** How often it was told that contests begin and are over, as sorted reasons. */
async function toldOfContests(): Promise<readonly unknown[]> {
  const events = await scene().hub.admin.list({ apiVersion: "v1", kind: "Event", namespace });
  const reasons = events.map((event) => event["reason"]);
  return reasons.filter((reason) => reason === "Contested" || reason === "ContestOver").toSorted();
}
