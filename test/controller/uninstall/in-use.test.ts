import { describe, expect, test } from "vitest";

import { createKubeClient } from "../../../access/kube/create-kube-client.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { keepWhileUsedAnnotation } from "../../../api/component.ts";
import type { Recollection } from "../../../controller/uninstall/finalize-scope.ts";
import { assertUnused } from "../../../controller/uninstall/in-use.ts";
import { anchorManifest } from "../../../installation/anchor-object.ts";
import { encodeInventory } from "../../../installation/inventory.ts";
import { startApiStub, type StubAnswer, type StubRequest } from "../../access/api-stub.ts";
import { requesterTo, serverIdentity, untilTheEnd } from "../../access/loopback.ts";
import { eventing } from "../apply/installer.ts";

const signal = AbortSignal.timeout(600_000);
const profile = { namespace: "fleet", name: "spoke-1" };
const group = "eventing.knative.dev";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const entries = [
  `brokers.${group}`,
  `triggers.${group}`,
  `eventpolicies.${group}`,
  "images.caching.internal.knative.dev",
].map((name) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  name,
  hash: "h",
  fingerprint: "f",
}));

interface Cluster {
  readonly brokers?: readonly object[];
  readonly policies?: readonly object[];
  readonly isForbidden?: boolean;
  /** The API server cannot list stored objects because their conversion webhook does not answer. */
  readonly isUnconverted?: boolean;
  /** The stored anchor; default: that of the component. */
  readonly anchor?: "gone" | "another's";
  /** The result of `recall`; default: nothing. */
  readonly remembered?: Recollection;
}

const nothing = { entries: [], isAll: false };

const broker = { name: "brokers", kind: "Broker", namespaced: true };

/** As Knative's own groups: the preferred version does not serve all kinds, and some are served in several. */
const servedIn: Readonly<Record<string, readonly object[]>> = {
  v1: [broker, { ...broker, name: "brokers/status" }],
  v1beta1: [broker],
  v1alpha1: [{ name: "eventpolicies", kind: "EventPolicy", namespaced: true }],
};

function groupOf(...names: readonly string[]): object {
  const versions = names.map((version) => ({ groupVersion: `${group}/${version}`, version }));
  // An API server lists the newest version first, also when another one is preferred.
  return { preferredVersion: versions[0], versions: versions.toReversed() };
}

function metadataOf(name: string, more: object = {}): object {
  return { metadata: { namespace: "shop", name, uid: name, resourceVersion: "1", ...more } };
}

async function sceneOf(cluster: Cluster, asks = "true") {
  const {
    brokers = [],
    policies = [],
    isForbidden = false,
    isUnconverted = false,
    anchor,
    remembered = nothing,
  } = cluster;
  const plain = eventing({}, { uid: "component-uid" });
  const annotations = { [keepWhileUsedAnnotation]: asks };
  const component = { ...plain, metadata: { ...plain.metadata, annotations } };
  const { namespace } = component.metadata;
  const ours = { namespace, hubId: "hub-a", fieldManager: "knfleet-hub-a", profile };
  const text = encodeInventory({ version: "1.23.0", complete: true, entries });
  const hubId = anchor === "another's" ? "hub-b" : ours.hubId;
  const root = anchorManifest({ component, target: { ...ours, hubId } }, text);
  const answer = ({ path: url }: StubRequest): StubAnswer => {
    const [path = ""] = url.split("?");
    if (path.includes("/configmaps/") && anchor !== "gone") {
      return json({ ...root, metadata: { ...root.metadata, uid: "root", resourceVersion: "1" } });
    }
    if (url.startsWith(`${definitions}?labelSelector=knfleet.dev%2Fdefinition%3Dtrue`))
      return json({
        metadata: { resourceVersion: "9" },
        items: entries.map(({ name }) => metadataOf(name, { namespace: undefined })),
      });
    if (path === `/apis/${group}`) return json(groupOf(...Object.keys(servedIn)));
    const resources = servedIn[path.slice(`/apis/${group}/`.length)];
    if (resources !== undefined) return json({ resources });
    if (path === `/apis/${group}/v1alpha1/eventpolicies`)
      return json({ metadata: { resourceVersion: "9" }, items: policies });
    if (path === `${definitions}/brokers.${group}`) return json(convertedDefinition);
    if (path !== `/apis/${group}/v1/brokers`) return json({ kind: "Status", code: 404 }, 404);
    if (isUnconverted) return { ...busy, headers: { "retry-after": "100" } };
    if (!isForbidden) return json({ metadata: { resourceVersion: "9" }, items: brokers });
    const message = `brokers.${group} is forbidden: User "hub" cannot list resource "brokers" in API group "${group}" at the cluster scope`;
    return json({ kind: "Status", code: 403, reason: "Forbidden", message }, 403);
  };
  const api = untilTheEnd(await startApiStub({ identity: serverIdentity, answer }));
  const target = { ...ours, client: createKubeClient(requesterTo(api)) };
  const recall = () => Promise.resolve(remembered);
  return {
    api,
    asked: () => assertUnused({ clock: systemClock, component, target, recall }, signal),
  };
}

const busy = json(
  { kind: "Status", code: 429, reason: "TooManyRequests", message: "storage is (re)initializing" },
  429,
);
const convertedDefinition = {
  metadata: { name: `brokers.${group}`, uid: "crd", resourceVersion: "1" },
  spec: {
    conversion: {
      strategy: "Webhook",
      webhook: { clientConfig: { service: { namespace: "eventing", name: "webhook" } } },
    },
  },
};

function json(body: object, status = 200): StubAnswer {
  return { status, body: JSON.stringify(body) };
}

describe("D-60: a component that is to be kept while it is used", () => {
  test("is not removed while it has users, and the message names them", async () => {
    const brokers = ["d", "c", "b", "a"].map((name) => metadataOf(name));
    const { asked } = await sceneOf({ brokers });
    await expect(asked()).rejects.toMatchObject({
      reason: "ClusterBusy",
      message: `Still used by 4 Broker (shop/a, shop/b, shop/c, …); delete them, or take ${keepWhileUsedAnnotation} off the component`,
    });
  });

  test("is not removed while a kind has users that the preferred version does not serve", async () => {
    const { asked } = await sceneOf({
      brokers: [metadataOf("one")],
      policies: [metadataOf("strict")],
    });
    await expect(asked()).rejects.toMatchObject({
      reason: "ClusterBusy",
      message: expect.stringContaining(
        "Still used by 1 Broker (shop/one); 1 EventPolicy (shop/strict); ",
      ),
    });
  });

  test("is not removed while users cannot be listed, and the message names the conversion webhook", async () => {
    const { asked, api } = await sceneOf({ isUnconverted: true });
    await expect(asked()).rejects.toMatchObject({
      reason: "ClusterBusy",
      message:
        "Looking for users before the removal: the cluster cannot list Broker for now; their conversion webhook, Service eventing/webhook, may not answer",
    });
    expect(api.requests.filter(({ path }) => path.includes("/brokers?"))).toHaveLength(1);
  });

  test("is removed without users; an object that another one controls is no user", async () => {
    const owner = { apiVersion: "v1", kind: "Thing", name: "t", uid: "t", controller: true };
    const brokers = [metadataOf("made", { ownerReferences: [owner] })];
    const { asked, api } = await sceneOf({ brokers });
    await expect(asked()).resolves.toBeUndefined();
    const paths = api.requests.map(({ path }) => path).join("\n");
    expect(paths).toContain("labelSelector=%21knfleet.dev%2Fcomponent-uid");
    expect(paths).not.toMatch(/triggers|internal/);
    const lists = api.requests.filter(({ path }) => path.includes("/brokers"));
    expect(lists.map(({ path }) => path.split("?")[0])).toEqual([`/apis/${group}/v1/brokers`]);
  });

  test("is not removed while it has users although the anchor is gone: the labelled CRDs count", async () => {
    const { asked } = await sceneOf({ brokers: [metadataOf("one")], anchor: "gone" });
    await expect(asked()).rejects.toMatchObject({
      reason: "ClusterBusy",
      message: expect.stringContaining("Still used by 1 Broker (shop/one); "),
    });
    await expect((await sceneOf({ anchor: "gone" })).asked()).resolves.toBeUndefined();
  });

  test("is removed when the anchor belongs to another component", async () => {
    const scene = { brokers: [metadataOf("one")], anchor: "another's" } as const;
    const { asked } = await sceneOf({ ...scene, remembered: { entries, isAll: true } });
    await expect(asked()).resolves.toBeUndefined();
  });

  test("does not list CRDs when all installed objects are known", async () => {
    const remembered = {
      entries: entries.filter(({ name }) => name.startsWith("triggers.")),
      isAll: true,
    };
    const scene = await sceneOf({ brokers: [metadataOf("one")], anchor: "gone", remembered });
    await expect(scene.asked()).resolves.toBeUndefined();
  });

  test("fails without the right to list users, and names the right", async () => {
    const { asked } = await sceneOf({ isForbidden: true });
    await expect(asked()).rejects.toMatchObject({
      reason: "ApplyFailed",
      code: "Forbidden",
      message:
        "[Forbidden] knfleet.dev/keep-while-used needs the right to list brokers.eventing.knative.dev, which the controller lacks on the target cluster; docs/removal.md has the role",
    });
  });

  test.each(["", "True", "yes"])("is kept by the value %j, too", async (value) => {
    const { asked } = await sceneOf({ brokers: [metadataOf("one")] }, value);
    await expect(asked()).rejects.toMatchObject({ reason: "ClusterBusy" });
  });

  test("sends no request without the annotation", async () => {
    const { asked, api } = await sceneOf({ brokers: [metadataOf("one")] }, "false");
    await asked();
    expect(api.requests).toEqual([]);
  });
});
