import { expect, test } from "vitest";

import type { CollectionRef, KubeClient, ObjectRef } from "../../../../access/kube-client.ts";
import { driftOf } from "../../../../cmd/kubectl/diagnose/drift.ts";
import type { InventoryEntry } from "../../../../controller/apply/inventory.ts";

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
  const drift = await driftOf([ox], { client, uid: "uid" }, AbortSignal.timeout(10_000));
  expect(drift.missing).toEqual([{ apiVersion: ox.apiVersion, kind: "Ox", name: "one" }]);
  expect(asked).toEqual(["oxen", "oxen false  one"]);
});
