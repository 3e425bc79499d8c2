import { describe, expect, test } from "vitest";

import { createKubeClient } from "../../../access/kube/create-kube-client.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { knownResource } from "../../../api/resources.ts";
import { startApiStub, type StubAnswer, type StubRequest } from "../api-stub.ts";
import { requesterTo, serverIdentity, untilTheEnd } from "../loopback.ts";

const signal = AbortSignal.timeout(600_000);
const resource = knownResource("v1", "ConfigMap");
const one = { resource, namespace: "a", name: "one" };
const truth = { namespace: "a", name: "one", uid: "one", resourceVersion: "1" };

/** A client of an API server that answers like this. */
async function clientOf(answer: (request: StubRequest) => StubAnswer): Promise<KubeClient> {
  return createKubeClient(
    requesterTo(untilTheEnd(await startApiStub({ identity: serverIdentity, answer }))),
  );
}

async function failuresOf(asked: readonly Promise<unknown>[]): Promise<readonly unknown[]> {
  const answers = await Promise.allSettled(asked);
  return answers.map((answer) => (answer.status === "rejected" ? answer.reason.failure : "none"));
}

describe("T-54: a spoke that lies", () => {
  test.each([
    { what: "a name", metadata: { name: "n".repeat(1_025) } },
    { what: "a uid", metadata: { uid: "u".repeat(254) } },
    { what: "a version", metadata: { resourceVersion: "1".repeat(254) } },
    { what: "a namespace", metadata: { namespace: "n".repeat(64) } },
    { what: "the key of a label", metadata: { labels: { ["k".repeat(318)]: "v" } } },
    { what: "the value of a label", metadata: { labels: { key: "v".repeat(64) } } },
    { what: "a finalizer", metadata: { finalizers: ["f".repeat(318)] } },
  ])("with $what longer than Kubernetes allows is no Kubernetes server", async ({ metadata }) => {
    const long = { metadata: { ...truth, ...metadata } };
    const client = await clientOf(({ path }) => {
      if (path.includes("watch"))
        return { body: `${JSON.stringify({ type: "ADDED", object: long })}\n` };
      return { body: JSON.stringify(path.includes("/one") ? long : { items: [long] }) };
    });
    const asked = [
      client.get(one, {}, signal),
      client.list({ resource }, {}, signal),
      Array.fromAsync(client.watch({ resource }, {}, signal)),
    ];
    expect(await failuresOf(asked)).toEqual(asked.map(() => "standIn"));
  });

  test.each([{ name: "other" }, { namespace: "b" }])(
    "with another object than was asked for (%o) is no Kubernetes server",
    async (metadata) => {
      const other = JSON.stringify({ metadata: { ...truth, ...metadata } });
      const client = await clientOf(() => ({ body: other }));
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "one" } };
      const asked = [
        client.get(one, {}, signal),
        client.apply(one, body, { fieldManager: "m" }, signal),
        client.patch(one, {}, {}, signal),
        client.replace(one, body, {}, signal),
      ];
      expect(await failuresOf(asked)).toEqual(asked.map(() => "standIn"));
    },
  );
});
