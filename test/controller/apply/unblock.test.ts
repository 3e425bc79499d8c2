import { expect, test } from "vitest";

import {
  type Blockades,
  blockadesAfter,
  dueAmong,
  unblock,
  untilDueMs,
  withCleared,
} from "../../../controller/apply/unblock.ts";
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
  const { signal } = new AbortController();
  const target = { client, fieldManager: "knfleet-hub" };
  let blockades: Blockades = new Map();
  for (const now of [0, 200_000]) {
    blockades = blockadesAfter(blockades, parked, now);
    const due = dueAmong(blockades);
    expect(due).toEqual(now === 0 ? [] : [name]);
    await Promise.all(due.map((one) => unblock(one, { target, desired }, signal)));
  }
  return patches > 0;
}

function refusedBy(...webhooks: readonly string[]) {
  return webhooks.map((name) => ({
    key: { apiVersion: "v1", kind: "ConfigMap", namespace: "ns", name: "a" },
    message: `Waiting for webhook ${name}.example.com`,
  }));
}

test("the time until a webhook becomes due is told once, and not of one that was due", () => {
  let blockades: Blockades = new Map();
  const [a, b] = ["a.example.com", "b.example.com"];
  expect(untilDueMs(blockades, 0)).toBe(0);
  blockades = blockadesAfter(blockades, refusedBy("a"), 0);
  blockades = blockadesAfter(blockades, refusedBy("a", "b"), 60_000);
  // The attempt that asked took longer than it is until then.
  expect([100_000, 200_000].map((now) => untilDueMs(blockades, now))).toEqual([80_000, 1]);
  blockades = blockadesAfter(blockades, refusedBy("a", "b"), 200_000);
  expect(dueAmong(blockades)).toEqual([a]);
  expect(untilDueMs(blockades, 200_000)).toBe(40_000);
  blockades = withCleared(blockades, "a.example.com");
  blockades = blockadesAfter(blockades, refusedBy("a", "b"), 240_000);
  expect(dueAmong(blockades)).toEqual([b]);
  expect(untilDueMs(blockades, 240_000)).toBe(0);
});

test("rules that a program behind the webhook writes are emptied, and a policy of a user's own is left", async () => {
  const own = { rules: [{ operations: ["CREATE"] }], clientConfig: { caBundle: "Yg==" } };
  expect([
    await isEmptied("config.webhook.serving.knative.dev", { clientConfig: {} }),
    await isEmptied("policy.example.com", own),
  ]).toEqual([true, false]);
});
