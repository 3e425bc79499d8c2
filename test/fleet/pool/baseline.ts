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
// Heartbeats of the servers, which change all the time. Nothing of a test is stored there.
const heartbeats =
  /^\/registry\/(?:leases\/kube-node-lease|leases\/kube-system\/apiserver-|peerserverleases|masterleases)/;
const firstNamespaces = ["default", "kube-node-lease", "kube-public", "kube-system"];
const lastOfStart = firstNamespaces.map((name) => `/registry/configmaps/${name}/kube-root-ca.crt`);

/** Waits until a new cluster is at rest, and remembers what it stores. */
export async function takeBaseline(cluster: StoredCluster): Promise<Baseline> {
  await untilAtRest(cluster);
  const baseline = new Map(await cluster.store.values());
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

async function untilAtRest({ name, store }: StoredCluster): Promise<void> {
  let before = new Map<string, string>();
  await waitFor(
    `the new cluster ${name} to be at rest`,
    async () => {
      const now = withoutHeartbeats(await store.revisions());
      const isAtRest = lastOfStart.every((key) => now.has(key)) && isDeepStrictEqual(now, before);
      before = now;
      return isAtRest;
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
    last = await differences(store, baseline);
    if (last.length > 0) await store.change(last);
    // What a controller of the cluster still makes of the changes comes within a moment.
    looksAtRest = last.length === 0 ? looksAtRest + 1 : 0;
    return looksAtRest === 2;
  };
  const waits = { everyMs: restMs, timeoutMs: limitMs };
  await waitFor(`${name} to be as it was`, isBack, waits).catch((cause: unknown) => {
    const keys = last.slice(0, 5).map(({ key }) => key);
    throw new Error(`Somebody goes on to write to ${name}: ${keys.join(", ")}`, { cause });
  });
}

async function differences(
  store: EtcdStore,
  baseline: Map<string, StoredValue>,
): Promise<readonly Change[]> {
  const now = withoutHeartbeats(await store.revisions());
  const added = [...now.keys()].filter((key) => !baseline.has(key));
  const changes: Change[] = added.map((key) => ({ key, value: undefined }));
  for (const [key, { value, revision }] of withoutHeartbeats(baseline)) {
    const current = now.get(key);
    if (current === revision) continue;
    // Written again with the value that it had, by us or by somebody else.
    const isSame = current !== undefined && (await store.value(key)) === value;
    if (isSame) baseline.set(key, { value, revision: current });
    else changes.push({ key, value });
  }
  return changes;
}

function withoutHeartbeats<Value>(stored: ReadonlyMap<string, Value>): Map<string, Value> {
  return new Map([...stored].filter(([key]) => !heartbeats.test(key)));
}

/** Every kind that the API server serves: an object for each group and version. */
async function servedBy(admin: AdminClient): Promise<readonly unknown[]> {
  const groups = valueAt(await admin.request("GET", "/apis"), "groups");
  const versions = [groups].flat().flatMap((group) => [valueAt(group, "versions")].flat());
  const paths = versions.map((version) => `/apis/${String(valueAt(version, "groupVersion"))}`);
  return Promise.all(paths.toSorted().map((path) => admin.request("GET", path)));
}
