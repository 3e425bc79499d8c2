// Servers of its own: an older minor of Kubernetes.
import { expect, test } from "vitest";

import { valueAt } from "./json-record.ts";
import { useSpokes } from "./use-fleet.ts";
import { waitFor } from "./wait-for.ts";

const fleet = useSpokes([{ kubernetes: "1.35", name: "older" }]);

test("a spoke of the older minor runs that version and makes a Deployment available", async () => {
  const { admin } = fleet().spoke("older");
  expect(valueAt(await admin.request("GET", "/version"), "gitVersion")).toBe("v1.35.4");
  const labels = { app: "web" };
  const key = { apiVersion: "apps/v1", kind: "Deployment", namespace: "default", name: "web" };
  await admin.create({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "default" },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "web", image: "example.invalid/web" }] },
      },
    },
  });
  await waitFor("the Deployment", async () => {
    return valueAt(await admin.get(key), "status", "availableReplicas") === 1;
  });
});
