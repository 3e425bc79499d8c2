import { beforeAll, describe, expect, onTestFinished, test } from "vitest";

import {
  describe as nameOf,
  keyOf,
  type KubeObject,
  type ObjectKey,
} from "../../api/kubernetes.ts";
import { componentUidLabel, definitionLabel } from "../../installation/anchor.ts";
import { valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { eventsOf } from "./history.ts";
import { condition, create, installed, read, ready } from "./installation.ts";
import { requestsTo, writesTo } from "./requests.ts";
import { useScene } from "./scene.ts";

// Without the guard, which would have each deletion of the anchor or a namespace confirmed first.
const scene = useScene({ spokes: 1 }, { flags: ["--anchor-protection=None"] });
const crd = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
const kinds = [
  "Certificate",
  "ClusterRole",
  "ClusterRoleBinding",
  "ConfigMap",
  "CustomResourceDefinition",
  "Deployment",
  "HorizontalPodAutoscaler",
  "Image",
  "Job",
  "MutatingWebhookConfiguration",
  "PodDisruptionBudget",
  "Role",
  "RoleBinding",
  "Secret",
  "Service",
  "ServiceAccount",
  "StatefulSet",
  "ValidatingWebhookConfiguration",
];
let components: readonly KubeObject[];

beforeAll(async () => {
  const { hub, fleet, profiles } = scene();
  const wanted = [
    await create(hub, { kind: "KnativeEventing", on: profiles[0] }),
    await create(hub, { kind: "KnativeServing", on: profiles[0] }),
  ];
  await ready(hub, "KnativeEventing");
  await ready(hub, "KnativeServing");
  components = wanted;
  fleet.spoke(0).proxy.setRtt(50);
}, 600_000);

function admin() {
  return scene().fleet.spoke(0).admin;
}

/** One object of each kind of both products, and how it is called. */
async function oneOfEachKind(): Promise<readonly ObjectKey[]> {
  const spoke = scene().fleet.spoke(0);
  const labelled = await Promise.all(components.map((one) => installed(spoke, one.metadata.uid)));
  const definitions = await admin().list({ ...crd, labelSelector: `${definitionLabel}=true` });
  const all = [...labelled.flat(), ...definitions.map((one) => ({ ...one, ...crd }))];
  return [...new Map(all.map((one) => [one.kind, keyOf(one)])).values()];
}

/** A label of ours; those by which we find an object are the hardest to miss, but a Job without them is one that is over. */
function labelOf({ kind }: ObjectKey): string {
  if (kind === "Job") return "app.kubernetes.io/name";
  return kind === crd.kind ? definitionLabel : componentUidLabel;
}

/** Waits until an object is there as a new one, and returns it. */
function again(key: ObjectKey, uid: string | undefined): Promise<KubeObject> {
  return waitFor(
    `${nameOf(key)} to be back`,
    async () => {
      const live = await admin().get(key);
      const isBack = live?.metadata.uid !== uid && live?.metadata.deletionTimestamp === undefined;
      return live !== undefined && isBack && live;
    },
    { timeoutMs: 60_000 },
  );
}

/** The requests of the controller since a moment but for watches, in short. */
async function sent(since: Date): Promise<readonly string[]> {
  const requests = await requestsTo(scene().fleet.spoke(0), since);
  return requests
    .filter(({ verb }) => verb !== "watch")
    .map(({ verb, resource, name }) => `${verb} ${resource} ${name}`);
}

describe("D-16, D-53: an object of any kind and scope is back", () => {
  test("after its deletion, with one write", { timeout: 600_000 }, async () => {
    const keys = await oneOfEachKind();
    expect(keys.map(({ kind }) => kind).toSorted()).toEqual(kinds);
    // A CRD takes its objects along and has a test below; a Job that ran must not run again.
    for (const key of keys.filter(({ kind }) => kind !== crd.kind && kind !== "Job")) {
      const before = await admin().get(key);
      const since = new Date();
      await admin().remove(key);
      const back = await again(key, before?.metadata.uid);
      expect(back.metadata.labels).toMatchObject(before?.metadata.labels ?? {});
      const writes = await writesTo(scene().fleet.spoke(0), since);
      expect(writes.map(({ verb, name }) => `${verb} ${name}`)).toEqual([`patch ${key.name}`]);
      expect((await sent(since)).length).toBeLessThanOrEqual(6);
    }
  });

  test("after a change of what is ours", { timeout: 600_000 }, async () => {
    for (const key of await oneOfEachKind()) {
      const before = await admin().get(key);
      const label = labelOf(key);
      const since = new Date();
      await admin().patch(key, { metadata: { labels: { [label]: null } } });
      await waitFor(`${nameOf(key)} to be as it was`, async () => {
        const live = await admin().get(key);
        return live?.metadata.labels?.[label] === before?.metadata.labels?.[label];
      });
      expect((await writesTo(scene().fleet.spoke(0), since)).map(({ name }) => name)).toEqual([
        key.name,
      ]);
    }
  });
});

test("an object that is deleted while a finalizer holds it is named, once in an Event, and back when it is let go", async () => {
  const { hub } = scene();
  const { uid = "" } = (await read(hub, "KnativeEventing"))?.metadata ?? {};
  const told = async () => {
    const events = await eventsOf(hub, "KnativeEventing", uid);
    return events.filter((event) => event.startsWith("Waiting: "));
  };
  expect(await told()).toEqual([]);
  const name = "eventing-controller";
  const key = { apiVersion: "v1", kind: "ServiceAccount", namespace: "knative-eventing", name };
  const before = await admin().get(key);
  const letGo = { metadata: { finalizers: null } };
  // An object that stayed held would hold up the tests that follow.
  onTestFinished(async () => void (await admin().patch(key, letGo)));
  await admin().patch(key, { metadata: { finalizers: ["example.com/hold"] } });
  await admin().remove(key);
  const message =
    /waiting for its deletion: ServiceAccount knative-eventing\/eventing-controller: /;
  await condition(hub, "KnativeEventing", ["InstallSucceeded", { message }]);
  const [event, ...more] = await waitFor("the Event", async () => {
    const events = await told();
    return events.length > 0 && events;
  });
  expect(event).toMatch(/^Waiting: ServiceAccount knative-eventing\/eventing-controller: .* ×1$/);
  expect(more).toEqual([]);
  await admin().patch(key, letGo);
  const { metadata } = await again(key, before?.metadata.uid);
  expect(metadata.labels).toEqual(before?.metadata.labels);
  await ready(hub, "KnativeEventing");
  expect(await told()).toEqual([event]);
});

test("the finalizer that somebody takes off a component is back, and nothing is written to its cluster for that", async () => {
  const { hub, fleet } = scene();
  const [component] = components;
  if (component === undefined) throw new Error("There is no component");
  const since = new Date();
  await hub.admin.patch(keyOf(component), { metadata: { finalizers: null } });
  await waitFor("the finalizer to be back", async () => {
    const { finalizers = [] } = (await hub.admin.get(keyOf(component)))?.metadata ?? {};
    return finalizers.includes("knativeeventings.operator.knative.dev");
  });
  await ready(hub, "KnativeEventing");
  expect(await writesTo(fleet.spoke(0), since)).toEqual([]);
});

test("a deleted CRD is back with its objects", async () => {
  const key = { ...crd, name: "images.caching.internal.knative.dev" };
  const before = await admin().get(key);
  const images = { apiVersion: "caching.internal.knative.dev/v1alpha1", kind: "Image" };
  const [image] = await admin().list(images);
  await admin().remove(key);
  await again(key, before?.metadata.uid);
  const of = {
    ...images,
    namespace: image?.metadata.namespace,
    name: String(image?.metadata.name),
  };
  expect(await again(of, image?.metadata.uid)).toMatchObject({ spec: image?.["spec"] });
});

test("D-32: the anchor is back when it is changed or deleted, with everything that it owns", async () => {
  const namespace = "knative-eventing";
  const name = "knativeeventing-knative-eventing-root-owner";
  const key = { apiVersion: "v1", kind: "ConfigMap", namespace, name };
  const before = await admin().get(key);
  await admin().patch(key, {
    metadata: { annotations: { "operator.knative.dev/protected": null } },
  });
  await waitFor("the anchor to be protected again", async () => {
    const live = await admin().get(key);
    return live?.metadata.annotations?.["operator.knative.dev/protected"] === "true";
  });
  await admin().remove(key);
  const anchor = await again(key, before?.metadata.uid);
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    namespace,
    name: "eventing-controller",
  };
  await waitFor("all to belong to the new anchor", async () => {
    const live = await admin().get(deployment);
    return valueAt(live, "metadata", "ownerReferences", 0, "uid") === anchor.metadata.uid;
  });
  const eventing = await ready(scene().hub, "KnativeEventing");
  expect(valueAt(eventing, "status", "version")).toBe("1.23.1");
});

test("a namespace that somebody deletes comes back with everything in it", async () => {
  const key = { apiVersion: "v1", kind: "Namespace", name: "knative-serving" };
  const before = await admin().get(key);
  await admin().remove(key);
  await again(key, before?.metadata.uid);
  const serving = await ready(scene().hub, "KnativeServing");
  expect(valueAt(serving, "status", "version")).toBe("1.23.1");
});
