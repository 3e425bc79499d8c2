import { isDeepStrictEqual } from "node:util";

import type { AdminClient } from "../admin-client.ts";
import { valueAt } from "../json-record.ts";
import { waitFor } from "../wait-for.ts";
import type { Change, EtcdStore, StoredValue } from "./etcd-store.ts";

/** What a cluster stored before anybody used it. */
export interface Baseline {
  /**
   * Deletes what came since, and restores what was changed or deleted, until nothing changes any more. Throws with the names of what
   * somebody goes on to write after `limitMs`.
   */
  putBack(limitMs: number): Promise<void>;
}

/** Where the store and the API of a cluster are. */
export interface StoredCluster {
  readonly name: string;
  readonly store: EtcdStore;
  readonly admin: AdminClient;
}

const restMs = 150;
// What the servers write by themselves: heartbeats, accounts of controllers, and roles that one of them puts together.
const ofServers = new RegExp(
  `^/registry/(?:${[
    "leases/kube-node-lease/",
    "leases/kube-system/apiserver-",
    "peerserverleases/",
    "masterleases/",
    "serviceaccounts/kube-system/",
    "clusterroles/(?:admin|edit|view)$",
  ].join("|")})`,
);
const firstNamespaces = ["default", "kube-node-lease", "kube-public", "kube-system"];
const lastOfStart = firstNamespaces.map((name) => `/registry/configmaps/${name}/kube-root-ca.crt`);

/** Waits until a new cluster is at rest, and remembers what it stores. */
export async function takeBaseline(cluster: StoredCluster): Promise<Baseline> {
  await untilAtRest(cluster);
  const baseline = new Map(await cluster.store.values());
  await untilKindsAreServed(cluster);
  const served = await servedBy(cluster.admin);
  return {
    async putBack(limitMs) {
      await putBack(cluster, baseline, limitMs);
      await waitFor(`${cluster.name} to serve what it served before`, async () =>
        isDeepStrictEqual(await servedBy(cluster.admin), served),
      );
    },
  };
}

/** The controller manager is done with its start when the last objects that it makes are there and nothing is written any more. */
async function untilAtRest({ name, store }: StoredCluster): Promise<void> {
  let before = new Map<string, string>();
  let looksAtRest = 0;
  await waitFor(
    `the new cluster ${name} to be at rest`,
    async () => {
      const now = withoutServers(await store.revisions());
      const isComplete = lastOfStart.every((key) => now.has(key));
      looksAtRest = isComplete && isDeepStrictEqual(now, before) ? looksAtRest + 1 : 0;
      before = now;
      return looksAtRest === 3;
    },
    { everyMs: restMs },
  );
}

async function putBack(
  { name, store }: StoredCluster,
  baseline: Map<string, StoredValue>,
  limitMs: number,
): Promise<void> {
  let last: readonly Change[] = [];
  let looksAtRest = 0;
  const isBack = async (): Promise<boolean> => {
    const changes = await differences(store, baseline);
    for (const turn of inTurns(changes)) await store.change(turn);
    // Events of what has gone may come for a while. What a controller of the cluster makes of the changes comes within a moment.
    last = changes.filter(({ key }) => !key.startsWith("/registry/events/"));
    looksAtRest = last.length === 0 ? looksAtRest + 1 : 0;
    return looksAtRest === 2;
  };
  const waits = { everyMs: restMs, timeoutMs: limitMs };
  await waitFor(`${name} to be as it was`, isBack, waits).catch((cause: unknown) => {
    const keys = last.slice(0, 5).map(({ key }) => key);
    throw new Error(`Somebody goes on to write to ${name}: ${keys.join(", ")}`, { cause });
  });
}

/**
 * Each turn deletes one object of a kind at most. Objects of a kind that change in one transaction have the same resourceVersion, and a watch that ends
 * between them never shows the rest. What is restored has a turn of its own: etcd limits the size of a transaction.
 */
function inTurns(changes: readonly Change[]): readonly (readonly Change[])[] {
  const turns: Change[][] = [];
  const counts = new Map<string, number>();
  for (const change of changes.filter(({ value }) => value === undefined)) {
    const kind = kindOfKey(change.key);
    const turn = counts.get(kind) ?? 0;
    counts.set(kind, turn + 1);
    (turns[turn] ??= []).push(change);
  }
  const restored = changes.filter(({ value }) => value !== undefined);
  return [...turns, ...restored.map((change) => [change])];
}

/** `configmaps` of `/registry/configmaps/default/a`, `example.com/rests` of `/registry/example.com/rests/a`. */
function kindOfKey(key: string): string {
  const [, , first = "", second = ""] = key.split("/");
  return first.includes(".") || first === "services" ? `${first}/${second}` : first;
}

async function differences(
  store: EtcdStore,
  baseline: Map<string, StoredValue>,
): Promise<readonly Change[]> {
  const now = withoutServers(await store.revisions());
  const added = [...now.keys()].filter((key) => !baseline.has(key));
  const changes: Change[] = added.map((key) => ({ key, value: undefined }));
  for (const [key, { value, revision }] of withoutServers(baseline)) {
    const current = now.get(key);
    if (current === revision) continue;
    // Written again with the value that it had, by us or by somebody else.
    const isSame = current !== undefined && (await store.value(key)) === value;
    if (isSame) baseline.set(key, { value, revision: current });
    else changes.push({ key, value });
  }
  return changes;
}

function withoutServers<Value>(stored: ReadonlyMap<string, Value>): Map<string, Value> {
  return new Map([...stored].filter(([key]) => !ofServers.test(key)));
}

// An API server begins to serve the kinds of a group one after the other.
async function untilKindsAreServed({ name, admin }: StoredCluster): Promise<void> {
  const definitions = await admin.list({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
  });
  await waitFor(`${name} to serve all its kinds`, async () => {
    const served = await servedBy(admin);
    return definitions.every((definition) => {
      const plural = valueAt(definition, "spec", "names", "plural");
      return served.some((kind) => kind.includes(`"name":"${String(plural)}"`));
    });
  });
}

/** Every kind that the API server serves, with its verbs, in an order that stays. */
async function servedBy(admin: AdminClient): Promise<readonly string[]> {
  const groups = valueAt(await admin.request("GET", "/apis"), "groups");
  const versions = [groups].flat().flatMap((group) => [valueAt(group, "versions")].flat());
  const served = await Promise.all(
    versions.map(async (version) => {
      const path = `/apis/${String(valueAt(version, "groupVersion"))}`;
      const resources = valueAt(await admin.request("GET", path), "resources");
      return [resources].flat().map((resource) => `${path} ${JSON.stringify(resource)}`);
    }),
  );
  return served.flat().toSorted();
}
