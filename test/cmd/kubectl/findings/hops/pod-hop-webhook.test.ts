import { expect, test } from "vitest";

import { createKubeClient } from "../../../../../access/kube/create-kube-client.ts";
import { checkPods } from "../../../../../cmd/kubectl/findings/hops/pod-hop.ts";
import { webhookFinder } from "../../../../../cmd/kubectl/findings/hops/silent-webhook.ts";
import { startApiStub, type StubAnswer } from "../../../../access/api-stub.ts";
import { requesterTo, serverIdentity, untilTheEnd } from "../../../../access/loopback.ts";
import { component } from "../../fleet-facts.ts";

const namespace = "knative-serving";
const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { namespace, name: "activator", uid: "d", resourceVersion: "1", generation: 1 },
  spec: { replicas: 1, selector: { matchLabels: { app: "activator" } } },
  status: { observedGeneration: 1 },
};
const configuration = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: "policies", uid: "v", resourceVersion: "1" },
  webhooks: [
    {
      name: "pods.policy.example.com",
      clientConfig: { service: { namespace: "policy", name: "gate" } },
    },
  ],
};

const listOf = (...items: readonly object[]): StubAnswer => ({
  body: JSON.stringify({ kind: "List", metadata: {}, items }),
});

/** What diagnose finds of a Deployment whose pods the cluster refuses with these words. */
async function findingFor(words: string) {
  const message = `Error creating: ${words}`;
  const condition = { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message };
  const status = { ...deployment.status, conditions: [condition] };
  const answer = ({ path }: { readonly path: string }): StubAnswer => {
    if (path.includes("/deployments/")) return { body: JSON.stringify({ ...deployment, status }) };
    return path.includes("/validatingwebhookconfigurations") ? listOf(configuration) : listOf();
  };
  const api = untilTheEnd(await startApiStub({ identity: serverIdentity, answer }));
  const client = createKubeClient(requesterTo(api));
  const signal = AbortSignal.timeout(60_000);
  const findWebhook = webhookFinder(component({ cluster: "spoke-1" }), { client }, signal);
  const cluster = { client, kubectl: "kubectl", findWebhook };
  const result = await checkPods(
    [{ kind: "Deployment", namespace, name: "activator" }],
    cluster,
    signal,
  );
  return result.findings?.[0];
}

test("a webhook that does not answer when pods are made has its own code, its configuration and its Service", async () => {
  const words = `Internal error occurred: failed calling webhook "pods.policy.example.com": context deadline exceeded`;
  const found = await findingFor(words);
  expect(found?.code).toBe("KNF6016");
  expect(found?.message).toContain("admission webhook pods.policy.example.com does not answer");
  expect(found?.evidence).toEqual([
    expect.stringContaining("failed calling webhook"),
    "pods.policy.example.com is of ValidatingWebhookConfiguration policies, and Service policy/gate answers for it",
  ]);
  expect(found?.next[0]).toMatch(/ get validatingwebhookconfiguration policies -o yaml$/);
});

test("a webhook that refuses pods keeps the code of pods that do not start", async () => {
  const words = `admission webhook "pods.policy.example.com" denied the request: no`;
  expect((await findingFor(words))?.code).toBe("KNF6010");
});
