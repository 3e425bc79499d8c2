import { describe, expect, test } from "vitest";

import type { AuthorizedRequest, Requester } from "../../../access/http/request.ts";
import { createKubeClient } from "../../../access/kube/create-kube-client.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { knownResource } from "../../../api/resources.ts";

const resource = knownResource("v1", "ConfigMap");
const place = { resource, namespace: "a" };
const one = { ...place, name: "one" };
const manifest = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "a", name: "one" } };
const stored = { ...manifest, metadata: { ...manifest.metadata, uid: "u", resourceVersion: "1" } };
const { signal } = new AbortController();

/** How long a server may take for the request that some work makes, in ms. */
async function deadlineOf(work: (client: KubeClient) => Promise<unknown>): Promise<number> {
  const requests: AuthorizedRequest[] = [];
  const requester: Requester = {
    server: "https://test",
    send: (request) => {
      requests.push(request);
      const text = JSON.stringify({ ...stored, items: [] });
      const contentType = "application/json";
      return Promise.resolve({ status: 200, contentType, retryAfter: undefined, text });
    },
    stream: () => Promise.reject(new Error("Nothing is watched")),
  };
  await work(createKubeClient(requester));
  return requests[0]?.timeoutMs ?? 0;
}

// requestTimeoutUpperBound of k8s.io/apiserver, which is more than a webhook may take (30 s).
const ofTheServerMs = 34_000;
const options = { fieldManager: "test" };
const policy = { propagationPolicy: "Background" } as const;

describe("a write has time until the server itself gives it up:", () => {
  test.each<[string, (client: KubeClient) => Promise<unknown>]>([
    ["create", (client) => client.create(place, manifest, {}, signal)],
    ["apply", (client) => client.apply(one, manifest, { ...options, force: true }, signal)],
    ["patch", (client) => client.patch(one, {}, options, signal)],
    ["replace", (client) => client.replace(one, manifest, {}, signal)],
    ["remove", (client) => client.remove(one, policy, signal)],
    [
      "removeCollection",
      (client) => client.removeCollection({ ...place, labelSelector: "a=b" }, policy, signal),
    ],
    ["request", (client) => client.request("DELETE", "/x", {}, signal)],
  ])("%s", async (_, work) => {
    expect(await deadlineOf(work)).toBeGreaterThanOrEqual(ofTheServerMs + 5_000);
  });
});

test.each<[string, (client: KubeClient) => Promise<unknown>]>([
  ["get", (client) => client.get(one, {}, signal)],
  ["list", (client) => client.list(place, {}, signal)],
])("a read has ten seconds: %s", async (_, work) => {
  expect(await deadlineOf(work)).toBe(10_000);
});
