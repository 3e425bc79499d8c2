import { describe, expect, test } from "vitest";

import { createKubeClient } from "../../access/create-kube-client.ts";
import { encodeInventory } from "../../controller/apply/inventory.ts";
import { rootManifest } from "../../controller/apply/root-object.ts";
import { assertUnused, keepWhileUsedAnnotation } from "../../controller/in-use.ts";
import { type StubAnswer, type StubRequest, startApiStub } from "../access/api-stub.ts";
import { requesterTo, serverIdentity, untilTheEnd } from "../access/loopback.ts";
import { eventing } from "./apply/installer.ts";

const signal = AbortSignal.timeout(600_000);
const profile = { namespace: "fleet", name: "spoke-1" };
const group = "eventing.knative.dev";

const entries = [
  `brokers.${group}`,
  `triggers.${group}`,
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
  readonly isForbidden?: boolean;
}

function metadataOf(name: string, more: object = {}): object {
  return { metadata: { namespace: "shop", name, uid: name, resourceVersion: "1", ...more } };
}

async function sceneOf({ brokers = [], isForbidden = false }: Cluster, asks = "true") {
  const plain = eventing({}, { uid: "component-uid" });
  const annotations = { [keepWhileUsedAnnotation]: asks };
  const component = { ...plain, metadata: { ...plain.metadata, annotations } };
  const { namespace } = component.metadata;
  const ours = { namespace, hubId: "hub-a", fieldManager: "knfleet-hub-a", profile };
  const text = encodeInventory({ version: "1.23.0", complete: true, entries });
  const root = rootManifest({ component, target: ours }, text);
  const answer = ({ path: url }: StubRequest): StubAnswer => {
    const [path = ""] = url.split("?");
    if (path.includes("/configmaps/")) {
      return json({ ...root, metadata: { ...root.metadata, uid: "root", resourceVersion: "1" } });
    }
    if (path === `/apis/${group}`)
      return json({ preferredVersion: { groupVersion: `${group}/v1` } });
    if (path === `/apis/${group}/v1`) {
      const kinds = [
        { name: "brokers", kind: "Broker", namespaced: true },
        { name: "brokers/status", kind: "Broker", namespaced: true },
        { name: "eventpolicies", kind: "EventPolicy", namespaced: true },
      ];
      return json({ resources: kinds });
    }
    if (path !== `/apis/${group}/v1/brokers`) return json({ kind: "Status", code: 404 }, 404);
    if (!isForbidden) return json({ metadata: { resourceVersion: "9" }, items: brokers });
    const message = `brokers.${group} is forbidden: User "hub" cannot list resource "brokers" in API group "${group}" at the cluster scope`;
    return json({ kind: "Status", code: 403, reason: "Forbidden", message }, 403);
  };
  const api = untilTheEnd(await startApiStub({ identity: serverIdentity, answer }));
  const target = { ...ours, client: createKubeClient(requesterTo(api)) };
  return { api, asked: () => assertUnused({ component, target }, signal) };
}

function json(body: object, status = 200): StubAnswer {
  return { status, body: JSON.stringify(body) };
}

describe("D-60: a component that is to be kept while it is used", () => {
  test("is not removed before its users' objects, which are named", async () => {
    const brokers = ["d", "c", "b", "a"].map((name) => metadataOf(name));
    const { asked } = await sceneOf({ brokers });
    await expect(asked()).rejects.toMatchObject({
      reason: "ClusterBusy",
      message: `Still used by 4 Broker (shop/a, shop/b, shop/c, …); delete them, or take ${keepWhileUsedAnnotation} off the component`,
    });
  });

  test("goes when nobody has any, and what something else controls is nobody's", async () => {
    const owner = { apiVersion: "v1", kind: "Thing", name: "t", uid: "t", controller: true };
    const brokers = [metadataOf("made", { ownerReferences: [owner] })];
    const { asked, api } = await sceneOf({ brokers });
    await expect(asked()).resolves.toBeUndefined();
    const paths = api.requests.map(({ path }) => path).join("\n");
    expect(paths).toContain("labelSelector=%21knfleet.dev%2Fcomponent-uid");
    expect(paths).not.toMatch(/eventpolicies|triggers|internal/);
  });

  test("waits, and names the right that is missing, where nobody may look", async () => {
    const { asked } = await sceneOf({ isForbidden: true });
    await expect(asked()).rejects.toMatchObject({
      reason: "ApplyFailed",
      code: "Forbidden",
      message: expect.stringContaining("needs the verb list on brokers.eventing.knative.dev"),
    });
  });

  test("costs nothing when it was not asked for", async () => {
    const { asked, api } = await sceneOf({ brokers: [metadataOf("one")] }, "false");
    await asked();
    expect(api.requests).toEqual([]);
  });
});
