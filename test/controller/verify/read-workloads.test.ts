import { expect, test } from "vitest";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { readUserWorkloads } from "../../../controller/verify/read-workloads.ts";
import { clusterOfUsers, objectOf, refusal } from "./cluster-of-users.ts";

const { signal } = new AbortController();

const definition = objectOf("CustomResourceDefinition", "parrotsources.sources.example");

test("the objects of users are read once a kind, those of sources of others, too", async () => {
  const owner = { apiVersion: "x/v1", kind: "Service", name: "cart", uid: "1", controller: true };
  const { client, asked } = clusterOfUsers({
    objects: {
      customresourcedefinitions: [definition],
      services: [objectOf("Service", "cart")],
      routes: [objectOf("Route", "cart", { ownerReferences: [owner] }), objectOf("Route", "own")],
      triggers: [objectOf("Trigger", "on-order")],
      parrotsources: [objectOf("ParrotSource", "polly")],
    },
  });
  const { workloads, unread } = await readUserWorkloads(client, signal);
  expect(workloads.map(({ kind, name }) => `${kind} ${name}`).toSorted()).toEqual([
    "ParrotSource polly",
    "Route own",
    "Service cart",
    "Trigger on-order",
  ]);
  expect(unread).toEqual([]);
  expect(asked.toSorted()).toEqual([
    "customresourcedefinitions",
    "parrotsources",
    "routes",
    "services",
    "triggers",
  ]);
});

test("what may not be listed is named, and the rest is read", async () => {
  const message =
    'triggers.eventing.knative.dev is forbidden: User "hub" cannot list resource "triggers" in API group "eventing.knative.dev" at the cluster scope';
  const { client } = clusterOfUsers({
    objects: { services: [objectOf("Service", "cart")] },
    errors: {
      triggers: refusal(403, message),
      routes: refusal(500),
      customresourcedefinitions: refusal(403),
    },
  });
  const { workloads, unread } = await readUserWorkloads(client, signal);
  expect(workloads).toHaveLength(1);
  expect(unread).toEqual([
    "Listing customresourcedefinitions was answered 403",
    "Listing routes was answered 500",
    expect.stringMatching(/^The right to list triggers\.eventing\.knative\.dev.* is missing$/),
  ]);
});

test("a cluster that names objects without end is not read to its end", async () => {
  const { client } = clusterOfUsers({ counts: { services: 50_001 } });
  const { unread } = await readUserWorkloads(client, signal);
  expect(unread).toEqual(["There are more than 50000 services"]);
});

test("a lost connection is none of a kind", async () => {
  const lost = new Error("The connection is lost");
  const { client } = clusterOfUsers({ errors: { routes: lost } });
  await expect(readUserWorkloads(client, signal)).rejects.toBe(lost);
});

test("a cluster without Knative has no workloads", async () => {
  const { client } = clusterOfUsers({});
  const none = { ...client, request: async () => Promise.reject(refusal(404)) };
  expect(await readUserWorkloads(none, signal)).toEqual({ workloads: [], unread: [] });
});

test("workloads that are larger than any are not kept, of all kinds together", async () => {
  const message = "x".repeat(30_000);
  const conditions = [{ type: "Ready", status: "False", message }];
  const large = (kind: string) =>
    Array.from({ length: 400 }, (_, at) => ({
      ...objectOf(kind, `${kind.toLowerCase()}-${at}`),
      status: { conditions },
    }));
  const { client } = clusterOfUsers({
    objects: { services: large("Service"), triggers: large("Trigger") },
  });
  const kept: KubeObject[] = [];
  const list: typeof client.list = (ref, { keep, ...options }, either) => {
    const counted = (object: KubeObject): KubeObject => {
      const part = keep?.(object) ?? object;
      kept.push(part);
      return part;
    };
    return client.list(ref, keep === undefined ? options : { ...options, keep: counted }, either);
  };
  const { unread } = await readUserWorkloads({ ...client, list }, signal);
  expect(unread).toEqual(["The workloads have more than 16777216 characters"]);
  // One of the lists is whole, and of the other one the part for which there is room.
  expect(kept.length).toBeGreaterThan(400);
  expect(JSON.stringify(kept).length).toBeLessThan(17_000_000);
});
