import { expect, test } from "vitest";

import { Blockades, unblock } from "../../../controller/apply/unblock.ts";
import { prepare } from "../../../installation/desired.ts";
import { manifestOf } from "./prepared.ts";

const configMap = manifestOf("v1 ConfigMap ns/a");
const kind = "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration";

/** Minutes after a webhook of a configuration began to refuse a ConfigMap: whether its rules were emptied. */
async function isEmptied(name: string, webhook: object): Promise<boolean> {
  const configuration = manifestOf(`${kind} ${name}`, { webhooks: [{ name, ...webhook }] });
  const key = { apiVersion: "v1", kind: "ConfigMap", namespace: "ns", name: "a" };
  const parked = [{ key, message: `Waiting for webhook ${name}` }];
  const desired = prepare({ version: "1", manifests: [configMap, configuration] });
  let patches = 0;
  const live = { ...configuration, metadata: { name, uid: "u", resourceVersion: "1" } };
  const client = {
    get: () => Promise.resolve(live),
    patch: () => {
      patches += 1;
      return Promise.resolve(live);
    },
  };
  const blockades = new Blockades();
  for (const now of [0, 200_000]) {
    const target = { client, fieldManager: "knfleet-hub" };
    await unblock(parked, { target, desired, blockades, now }, new AbortController().signal);
  }
  return patches > 0;
}

test("the time until a webhook becomes due is told once, and not of one that was due", () => {
  const blockades = new Blockades();
  expect(blockades.untilDueMs(0)).toBe(0);
  blockades.dueAmong(new Set(["a"]), 0);
  blockades.dueAmong(new Set(["a", "b"]), 60_000);
  expect([blockades.untilDueMs(100_000), blockades.untilDueMs(200_000)]).toEqual([80_000, 40_000]);
  expect(blockades.dueAmong(new Set(["a", "b"]), 240_000)).toEqual(["a", "b"]);
  expect(blockades.untilDueMs(240_000)).toBe(0);
});

test("rules that a program behind the webhook writes are emptied, and a policy of a user's own is left", async () => {
  const own = { rules: [{ operations: ["CREATE"] }], clientConfig: { caBundle: "Yg==" } };
  expect([
    await isEmptied("config.webhook.serving.knative.dev", { clientConfig: {} }),
    await isEmptied("policy.example.com", own),
  ]).toEqual([true, false]);
});
