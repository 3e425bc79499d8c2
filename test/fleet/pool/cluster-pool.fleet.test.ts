import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { keyOf } from "../../../api/kubernetes.ts";
import { openAdminClient } from "../admin-client.ts";
import { ensureBinaries } from "../binaries.ts";
import { serverBinaries } from "../binary-catalogue.ts";
import type { Cluster, ClusterPlan } from "../cluster.ts";
import { conditionOf } from "../json-record.ts";
import { runClusters } from "../running-clusters.ts";
import { waitFor } from "../wait-for.ts";
import { ClusterPool } from "./cluster-pool.ts";

// The pool itself is looked at: its clusters belong to this file.
describe("a pool of clusters", () => {
  const pool = new ClusterPool({ limitMs: 3_000 });
  const log: string[] = [];
  let binary: Awaited<ReturnType<typeof ensureBinaries<(typeof serverBinaries)[number]>>>;

  beforeAll(async () => {
    binary = await ensureBinaries(serverBinaries);
  });
  afterAll(() => pool[Symbol.asyncDispose]());

  /** Lends one cluster to `use` and takes it back. */
  async function lend<Result>(
    use: (cluster: Cluster) => Promise<Result>,
    options: Partial<ClusterPlan> = {},
  ): Promise<Result> {
    const plan: ClusterPlan = { name: "spoke-1", role: "spoke", prepare, ...options };
    await using running = await runClusters(
      [plan],
      { binary, log: (line) => log.push(line) },
      pool,
    );
    const [cluster] = running.clusters;
    if (cluster === undefined) throw new Error("One cluster was asked for");
    return await use(cluster);
  }

  test("lends a cluster again as it was when it was new", async () => {
    const first = await lend(async (cluster) => {
      const before = await stateOf(cluster);
      await leaveMuchBehind(cluster);
      return { server: cluster.server, before };
    });
    await lend(
      async (cluster) => {
        expect(cluster.server).toBe(first.server);
        expect(cluster.name).toBe("another");
        // The rules of `view` are put together by a controller.
        await expect.poll(() => stateOf(cluster)).toEqual(first.before);
        // The kind is gone, and may come again with other versions.
        await expect(cluster.admin.request("GET", "/apis/example.com")).rejects.toThrow(/404/);
        await cluster.admin.create(definition("v2"));
        await waitFor("the kind to be served again", async () =>
          cluster.admin.request("GET", "/apis/example.com/v2/rests"),
        );
      },
      { name: "another" },
    );
  });

  test("shows a file only its own requests in the audit log", async () => {
    await lend(({ admin }) => admin.request("GET", "/version?of=first"));
    const uris = await lend(async ({ admin, auditLog }) => {
      await admin.request("GET", "/version?of=second");
      return (await auditLog.requests()).map(({ uri }) => uri);
    });
    expect(uris).toEqual(["/version?of=second"]);
  });

  test("lends one cluster with nodes on which pods become ready, and without", async () => {
    const first = await lend(runs);
    const second = await lend(
      async (cluster) => {
        expect(await cluster.admin.list({ apiVersion: "v1", kind: "Node" })).toEqual([]);
        return cluster.server;
      },
      { kwok: false },
    );
    expect([second, await lend(runs)]).toEqual([first, first]);
  });

  test("does not lend a cluster again of which a server was harmed", async () => {
    const harmed = await lend(async (cluster) => {
      cluster.pause();
      cluster.resume();
      return cluster.server;
    });
    expect(await lend(async ({ server }) => server)).not.toBe(harmed);
  });

  test("names what a file goes on to write, and does not lend that cluster again", async () => {
    let server = "";
    let writing: Promise<void> | undefined;
    const over = new AbortController();
    onTestFinished(() => over.abort());
    const goesOn = lend(async (cluster) => {
      server = cluster.server;
      // As a controller does that a test forgot to stop, by a connection of its own.
      writing = writeOn(cluster, over.signal).catch(() => undefined);
      await waitFor("the first write", () => cluster.admin.get(key("restless")));
    });
    await expect(goesOn).rejects.toThrow(
      "Somebody goes on to write to spoke: /registry/configmaps/default/restless",
    );
    over.abort();
    await writing;
    expect(await lend(async (cluster) => cluster.server)).not.toBe(server);
  });
});

/** Runs a Deployment until it is available. */
async function runs(cluster: Cluster): Promise<string> {
  await cluster.admin.create({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "left" },
  });
  await cluster.admin.create(deployment);
  await waitFor("the Deployment to be available", () => isAvailable(cluster));
  return cluster.server;
}

async function isAvailable({ admin }: Cluster): Promise<boolean> {
  const found = await admin.get(keyOf(deployment));
  return conditionOf(found, "Available")?.status === "True";
}

async function prepare({ admin }: Cluster): Promise<void> {
  await admin.create(configMap("baseline", { is: "new" }));
  await admin.create(configMap("deleted", {}));
}

/** A namespace with pods that run, a kind with an object, a policy, a changed object, a deleted one, and a cluster role that others aggregate. */
async function leaveMuchBehind({ admin }: Cluster): Promise<void> {
  await admin.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "left" } });
  await admin.create(deployment);
  await admin.create(definition("v1"));
  await admin.create({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: {
      name: "left",
      labels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" },
    },
    rules: [{ apiGroups: ["example.com"], resources: ["rests"], verbs: ["get"] }],
  });
  await admin.create({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "left" },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] },
        ],
      },
      validations: [{ expression: "false" }],
    },
  });
  await admin.patch(key("baseline"), { data: { is: "changed" } });
  await admin.remove(key("deleted"));
  await waitFor("an object of the new kind", () =>
    admin.create({ apiVersion: "example.com/v1", kind: "Rest", metadata: { name: "left" } }),
  );
  await waitFor("pods that run", async () => {
    const pods = await admin.list({ apiVersion: "v1", kind: "Pod", namespace: "left" });
    return pods.length === 2 && pods.every(({ status }) => isRunning(status));
  });
}

function isRunning(status: unknown): boolean {
  return JSON.stringify(status ?? {}).includes('"phase":"Running"');
}

/** Names of all objects of some kinds, and what is in those that a test changes. */
async function stateOf({ admin }: Cluster): Promise<unknown> {
  const kinds = [
    ["v1", "Namespace"],
    ["v1", "Pod"],
    ["v1", "Node"],
    ["v1", "Service"],
    ["v1", "ServiceAccount"],
    ["apps/v1", "ReplicaSet"],
    ["rbac.authorization.k8s.io/v1", "ClusterRole"],
    ["admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"],
    ["apiextensions.k8s.io/v1", "CustomResourceDefinition"],
  ] as const;
  const names = await Promise.all(
    kinds.map(async ([apiVersion, kind]) => {
      const objects = await admin.list({ apiVersion, kind });
      return objects.map(({ metadata }) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`);
    }),
  );
  const view = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name: "view" };
  const changed = await admin.get(key("baseline"));
  return {
    names: names.flat().toSorted(),
    baseline: { uid: changed?.metadata.uid, data: changed?.["data"] },
    deleted: (await admin.get(key("deleted")))?.metadata.uid,
    view: (await admin.get(view))?.["rules"],
  };
}

/** Writes until it is told to stop; the client is not that of the cluster, which is closed with it. */
async function writeOn(cluster: Cluster, over: AbortSignal): Promise<void> {
  const admin = openAdminClient(cluster.server, cluster.caPem, cluster.adminIdentity);
  try {
    while (!over.aborted) await admin.apply(configMap("restless", { at: String(Date.now()) }));
  } finally {
    admin.close();
  }
}

function key(name: string) {
  return { apiVersion: "v1", kind: "ConfigMap", namespace: "default", name };
}

function configMap(name: string, data: Readonly<Record<string, string>>) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, data };
}

function definition(version: string) {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "rests.example.com" },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural: "rests", kind: "Rest" },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object" } },
        },
      ],
    },
  };
}

const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "left", namespace: "left" },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: "left" } },
    template: {
      metadata: { labels: { app: "left" } },
      spec: { containers: [{ name: "c", image: "example.com/c" }] },
    },
  },
};
