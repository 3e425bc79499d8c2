import { expect, test } from "vitest";

import type {
  CollectionRef,
  KubeClient,
  ObjectRef,
} from "../../../../../access/kube/kube-client.ts";
import { readDrift } from "../../../../../cmd/kubectl/findings/hops/drift.ts";
import type { InventoryEntry } from "../../../../../installation/inventory.ts";

const ox: InventoryEntry = { apiVersion: "foreign.dev/v1", kind: "Ox", name: "one", hash: "h" };

test("objects of a cluster-scoped kind with an odd plural are looked for where the cluster serves it", async () => {
  const asked: string[] = [];
  const resources = [{ name: "oxen", kind: "Ox", namespaced: false }];
  const answers: Pick<KubeClient, "request" | "list" | "get"> = {
    request: () => Promise.resolve({ resources }),
    list: ({ resource }: CollectionRef) => {
      asked.push(resource.plural);
      return Promise.resolve({ items: [], resourceVersion: "1" });
    },
    get: ({ resource, namespace, name }: ObjectRef) => {
      asked.push([resource.plural, resource.namespaced, namespace, name].join(" "));
      return Promise.resolve(undefined);
    },
  };
  const client: KubeClient = Object.assign(Object.create(null), answers);
  const drift = await readDrift([ox], { client, uid: "uid" }, AbortSignal.timeout(10_000));
  expect(drift.missing).toEqual([{ apiVersion: ox.apiVersion, kind: "Ox", name: "one" }]);
  expect(asked).toEqual(["oxen", "oxen false  one"]);
});

test("a finished Job that Kubernetes removed is not missing, and one that was never accepted is", async () => {
  const key = { apiVersion: "batch/v1", kind: "Job", namespace: "knative-serving" };
  const done = { ...key, name: "done", hash: "h", fingerprint: "f" };
  const never = { ...key, name: "never", hash: "" };
  const answers: Pick<KubeClient, "list" | "get"> = {
    list: () => Promise.resolve({ items: [], resourceVersion: "1" }),
    get: () => Promise.resolve(undefined),
  };
  const client: KubeClient = Object.assign(Object.create(null), answers);
  const drift = await readDrift([done, never], { client, uid: "uid" }, AbortSignal.timeout(10_000));
  expect(drift).toEqual({
    checked: 2,
    unread: 0,
    missing: [{ ...key, name: "never" }],
    changed: [],
  });
});
