import { expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeClient, ListOptions } from "../../../access/kube/kube-client.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { readUserWorkloads } from "../../../controller/verify/read-workloads.ts";

const { signal } = new AbortController();

/** The kinds that a cluster serves, by group. */
const served: Readonly<Record<string, readonly (readonly [kind: string, plural: string])[]>> = {
  "serving.knative.dev": [
    ["Service", "services"],
    ["Configuration", "configurations"],
    ["Route", "routes"],
  ],
  "eventing.knative.dev": [["Trigger", "triggers"]],
  "sources.example": [["ParrotSource", "parrotsources"]],
};

function objectOf(kind: string, name: string, more: object = {}): KubeObject {
  const metadata = { namespace: "shop", name, uid: name, resourceVersion: "1", ...more };
  return { apiVersion: "x/v1", kind, metadata, spec: {} };
}

function refusal(status: number, message = "no"): ApiError {
  return new ApiError({
    status,
    message,
    reason: "",
    causes: [],
    isStatus: true,
    request: "GET /",
  });
}

interface Stub {
  readonly objects?: Readonly<Record<string, readonly KubeObject[]>>;
  readonly errors?: Readonly<Record<string, Error>>;
  /** Number of objects that a list names. */
  readonly counts?: Readonly<Record<string, number>>;
}

/** A cluster with these objects by plural, and what is asked of it. */
function cluster({ objects = {}, errors = {}, counts = {} }: Stub) {
  const asked: string[] = [];
  const client: Pick<KubeClient, "list" | "request"> = {
    request: async (_method, path) => {
      const group = path.replace("/apis/", "").replace(/\/v1$/, "");
      if (served[group] === undefined) throw refusal(404);
      if (!path.endsWith("/v1")) {
        const version = { groupVersion: `${group}/v1`, version: "v1" };
        return { name: group, versions: [version], preferredVersion: version };
      }
      const resources = served[group].map(([kind, name]) => ({ kind, name, namespaced: true }));
      return { resources };
    },
    list: async ({ resource: { plural } }, options: ListOptions) => {
      asked.push(plural);
      if (errors[plural] !== undefined) throw errors[plural];
      options.onCount?.(counts[plural] ?? 0);
      const items = (objects[plural] ?? []).map((one) => options.keep?.(one) ?? one);
      return { items, resourceVersion: "1" };
    },
  };
  return { client, asked };
}

const definition = objectOf("CustomResourceDefinition", "parrotsources.sources.example");

test("the objects of users are read once a kind, those of sources of others, too", async () => {
  const owner = { apiVersion: "x/v1", kind: "Service", name: "cart", uid: "1", controller: true };
  const { client, asked } = cluster({
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
  const { client } = cluster({
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
  const { client } = cluster({ counts: { services: 50_001 } });
  const { unread } = await readUserWorkloads(client, signal);
  expect(unread).toEqual(["There are more than 50000 services"]);
});

test("a lost connection is none of a kind", async () => {
  const lost = new Error("The connection is lost");
  const { client } = cluster({ errors: { routes: lost } });
  await expect(readUserWorkloads(client, signal)).rejects.toBe(lost);
});

test("a cluster without Knative has no workloads", async () => {
  const { client } = cluster({});
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
  const { client } = cluster({
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
