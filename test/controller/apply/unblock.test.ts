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
  // The attempt that asked took longer than it is until then.
  expect([100_000, 200_000].map((now) => blockades.untilDueMs(now))).toEqual([80_000, 1]);
  expect(blockades.dueAmong(new Set(["a", "b"]), 200_000)).toEqual(["a"]);
  expect(blockades.untilDueMs(200_000)).toBe(40_000);
  blockades.cleared("a");
  expect(blockades.dueAmong(new Set(["a", "b"]), 240_000)).toEqual(["b"]);
  expect(blockades.untilDueMs(240_000)).toBe(0);
});

test("rules that a program behind the webhook writes are emptied, and a policy of a user's own is left", async () => {
  const own = { rules: [{ operations: ["CREATE"] }], clientConfig: { caBundle: "Yg==" } };
  expect([
    await isEmptied("config.webhook.serving.knative.dev", { clientConfig: {} }),
    await isEmptied("policy.example.com", own),
  ]).toEqual([true, false]);
});
