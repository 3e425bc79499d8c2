import { describe, expect, test } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { conditionOf, valueAt } from "./json-record.ts";
import { useFleet } from "./use-fleet.ts";
import { waitFor } from "./wait-for.ts";

const fleet = useFleet({ spokes: 1 });

describe("a cluster of the fleet", () => {
  test("makes a Deployment of two replicas available", async () => {
    const { admin } = fleet().spoke(0);
    await admin.create(deployment("two", 2));
    const ready = await waitFor("the Deployment", async () => {
      const found = await admin.get(keyOfDeployment("two"));
      return conditionOf(found, "Available")?.status === "True" ? found : undefined;
    });
    expect(valueAt(ready, "status", "readyReplicas")).toBe(2);
  });

  test("completes a Job", async () => {
    const { admin } = fleet().spoke(0);
    await admin.create(job("once"));
    const done = await waitFor("the Job", async () => {
      const found = await admin.get({
        apiVersion: "batch/v1",
        kind: "Job",
        namespace: "default",
        name: "once",
      });
      return conditionOf(found, "Complete")?.status === "True" ? found : undefined;
    });
    expect(valueAt(done, "status", "succeeded")).toBe(1);
  });

  test("lets a deleted Deployment's pods go", async () => {
    const { admin } = fleet().spoke(0);
    const pods = { apiVersion: "v1", kind: "Pod", labelSelector: "app=gone" } as const;
    await admin.create(deployment("gone", 1));
    await waitFor("a pod", async () => (await admin.list(pods)).length === 1);
    await admin.remove(keyOfDeployment("gone"));
    await waitFor("the pod to go", async () => (await admin.list(pods)).length === 0);
    expect(await admin.get(keyOfDeployment("gone"))).toBeUndefined();
  });
});

const template = (name: string, extra: object = {}) => ({
  metadata: { labels: { app: name } },
  spec: { containers: [{ name: "main", image: "example.invalid/main" }], ...extra },
});

const keyOfDeployment = (name: string) =>
  ({ apiVersion: "apps/v1", kind: "Deployment", namespace: "default", name }) as const;

const deployment = (name: string, replicas: number): Manifest => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { namespace: "default", name },
  spec: { replicas, selector: { matchLabels: { app: name } }, template: template(name) },
});

const job = (name: string): Manifest => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { namespace: "default", name },
  spec: { template: template(name, { restartPolicy: "Never" }) },
});
