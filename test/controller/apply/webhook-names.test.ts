import { expect, test } from "vitest";

import { ConnectionError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { WebhookNames } from "../../../controller/apply/webhook-names.ts";
import { apiError } from "../observe/scripted-watches.ts";

const { signal } = new AbortController();
const key = { apiVersion: "v1", kind: "ConfigMap", namespace: "ns", name: "a" };

/** A cluster with one webhook in a configuration, and the lists that it was asked for. */
function cluster(webhook: string) {
  const asked: string[] = [];
  const list: KubeClient["list"] = ({ resource: { kind, apiVersion } }) => {
    asked.push(kind);
    const metadata = { name: "policies", uid: "1", resourceVersion: "1" };
    const item = { apiVersion, kind, metadata, webhooks: [{ name: webhook }] };
    const items = kind.startsWith("Mutating") ? [item] : [];
    return Promise.resolve({ items, resourceVersion: "1" });
  };
  return { client: { list }, asked };
}

async function told(
  names: WebhookNames,
  messages: readonly string[],
  client: Pick<KubeClient, "list">,
): Promise<readonly string[]> {
  const troubles = messages.map((message) => ({ key, message }));
  return (await names.complete(troubles, client, signal)).map(({ message }) => message);
}

test("messages name the configuration of a webhook that refuses or does not answer, and the cluster is asked once", async () => {
  const { client, asked } = cluster("a.b");
  const names = new WebhookNames();
  const messages = [
    "Waiting for webhook a.b",
    "Not allowed: the admission webhook a.b denies it",
    "Obsolete, but its deletion is refused for now with status 500: the webhook a.b does not answer",
    "Waiting for its deletion",
  ];
  const of = "of MutatingWebhookConfiguration policies";
  const expected = [
    `Waiting for webhook a.b ${of}`,
    `Not allowed: the admission webhook a.b ${of} denies it`,
    `Obsolete, but its deletion is refused for now with status 500: the webhook a.b ${of} does not answer`,
    "Waiting for its deletion",
  ];
  expect(await told(names, messages, client)).toEqual(expected);
  expect(await told(names, messages, client)).toEqual(expected);
  expect(asked).toHaveLength(2);
  expect(await told(names, [], client)).toEqual([]);
  await told(names, messages, client);
  expect(asked).toHaveLength(4);
});

test("a cluster that does not tell it leaves the messages as they are", async () => {
  const message = "Waiting for webhook x.y";
  expect(await told(new WebhookNames(), [message], cluster("a.b").client)).toEqual([message]);
  const refuses = { list: () => Promise.reject(apiError(403, "Forbidden")) };
  expect(await told(new WebhookNames(), [message], refuses)).toEqual([message]);
});

test("nothing is asked without a webhook", async () => {
  const { client, asked } = cluster("a.b");
  await told(new WebhookNames(), ["Waiting for its deletion"], client);
  expect(asked).toEqual([]);
});

test("a cluster that names many webhooks, or breaks off, is asked once, and takes nothing from what is told", async () => {
  const { client, asked } = cluster("none");
  const names = new WebhookNames();
  const messages = Array.from({ length: 300 }, (_, at) => `Waiting for webhook w${at}.x`);
  expect(await told(names, messages, client)).toEqual(messages);
  expect(await told(names, messages, client)).toEqual(messages);
  expect(asked).toHaveLength(2);
  const breaks = { list: () => Promise.reject(new ConnectionError("closed", "reset")) };
  const one = messages.slice(0, 1);
  expect(await told(new WebhookNames(), one, breaks)).toEqual(one);
});
