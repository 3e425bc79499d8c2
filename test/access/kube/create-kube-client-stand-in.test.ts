import { describe, expect, test } from "vitest";

import { ApiError, ConnectionError } from "../../../access/kube/api-error.ts";
import { createKubeClient } from "../../../access/kube/create-kube-client.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { knownResource, type ResourceType } from "../../../api/resources.ts";
import type { StubAnswer } from "../api-stub.ts";
import { requesterTo, stub } from "../loopback.ts";

const signal = AbortSignal.timeout(600_000);
const configMaps = knownResource("v1", "ConfigMap");
const one = { resource: configMaps, namespace: "a", name: "one" };
const manifest = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "a", name: "one" } };
const labelSelector = "a=b";

const away: StubAnswer = {
  status: 404,
  headers: { "content-type": "text/plain" },
  body: "default backend - 404",
};
const absent: StubAnswer = {
  status: 404,
  body: JSON.stringify({ kind: "Status", code: 404, reason: "NotFound", message: "not found" }),
};

async function clientOf(answer: StubAnswer): Promise<KubeClient> {
  return createKubeClient(requesterTo(await stub(() => answer)));
}

async function endOf(work: Promise<unknown>): Promise<unknown> {
  return work.catch((error: unknown) => error);
}

async function followed(client: KubeClient, resource: ResourceType): Promise<unknown> {
  return Array.fromAsync(client.watch({ resource }, {}, signal));
}

type Ask = (client: KubeClient) => Promise<unknown>;

const questions: readonly { readonly what: string; readonly ask: Ask }[] = [
  { what: "GET", ask: (client) => client.get(one, {}, signal) },
  { what: "LIST", ask: (client) => client.list({ resource: configMaps }, {}, signal) },
  { what: "watch", ask: (client) => followed(client, configMaps) },
  { what: "POST", ask: (client) => client.create(one, manifest, {}, signal) },
  { what: "apply", ask: (client) => client.apply(one, manifest, { fieldManager: "m" }, signal) },
  { what: "PATCH", ask: (client) => client.patch(one, {}, {}, signal) },
  { what: "PUT", ask: (client) => client.replace(one, manifest, {}, signal) },
  { what: "DELETE", ask: (client) => client.remove(one, {}, signal) },
  {
    what: "DELETE of a collection",
    ask: (client) => client.removeCollection({ ...one, labelSelector }, {}, signal),
  },
];

describe("a load balancer that answers 404 in place of the server", () => {
  test.each(questions)("says nothing of an object to $what", async ({ ask }) => {
    expect(await endOf(ask(await clientOf(away)))).toBeInstanceOf(ConnectionError);
  });

  test("says nothing either in JSON that is no Status", async () => {
    const client = await clientOf({ status: 404, body: '{"error":"no route"}' });
    expect(await endOf(client.get(one, {}, signal))).toBeInstanceOf(ConnectionError);
  });

  test("cannot be told from a server that does not serve a kind which not all of them have", async () => {
    const client = await clientOf(away);
    for (const [apiVersion, kind] of [
      ["networking.internal.knative.dev/v1alpha1", "Certificate"],
      ["admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"],
      ["v1", "Unheard"],
    ] as const) {
      const resource = { apiVersion, kind, plural: `${kind.toLowerCase()}s`, namespaced: false };
      expect(await client.get({ resource, name: "one" }, {}, signal)).toBeUndefined();
      expect(await endOf(followed(client, resource))).toBeInstanceOf(ApiError);
    }
  });
});

test.each(questions)(
  "a proxy without a tunnel, which answers 400, says nothing of an object to $what",
  async ({ ask }) => {
    const headers = { "content-type": "text/plain; charset=utf-8" };
    const answer = { status: 400, headers, body: "rpc error: code = Unavailable" };
    const error = await endOf(ask(await clientOf(answer)));
    expect(error).toMatchObject({ name: "ConnectionError", failure: "standIn" });
    expect(String(error)).toContain("answered 400 as no API server does");
  },
);

test("a request that the server itself finds wrong is told as such", async () => {
  const body = JSON.stringify({ kind: "Status", code: 400, reason: "BadRequest" });
  const client = await clientOf({ status: 400, body });
  expect(await endOf(client.get(one, {}, signal))).toMatchObject({ name: "ApiError", status: 400 });
});

test("an object is absent when the server itself says so", async () => {
  const client = await clientOf(absent);
  expect(await client.get(one, {}, signal)).toBeUndefined();
  expect(await client.remove(one, {}, signal)).toBe("absent");
  expect(await endOf(client.patch(one, {}, {}, signal))).toMatchObject({ status: 404 });
});
