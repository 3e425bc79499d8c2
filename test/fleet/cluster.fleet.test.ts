// Servers of its own: it is about servers that are stopped, frozen and started with flags.
import { once } from "node:events";
import { Agent } from "node:https";
import { createServer } from "node:net";

import { describe, expect, test } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { AdminError, openAdminClient } from "./admin-client.ts";
import type { Cluster } from "./cluster.ts";
import { exchange } from "./https-exchange.ts";
import { conditionOf, valueAt } from "./json-record.ts";
import { useFleet } from "./use-fleet.ts";
import { waitFor } from "./wait-for.ts";

const fleet = useFleet({ spokes: [{ apiServerFlags: ["--goaway-chance=0.001"] }] });

describe("a cluster with kwok", () => {
  test("makes a Deployment of two replicas available", async () => {
    const { admin } = fleet().spoke(0);
    await admin.create(deployment("two", 2));
    const ready = await waitFor("the Deployment", async () => {
      const found = await admin.get(deploymentKey("two"));
      return conditionOf(found, "Available")?.status === "True" ? found : undefined;
    });
    expect(valueAt(ready, "status", "readyReplicas")).toBe(2);
  });

  test("completes a Job", async () => {
    const { admin } = fleet().spoke(0);
    await admin.create(job("once"));
    const key = { apiVersion: "batch/v1", kind: "Job", namespace: "default", name: "once" };
    const done = await waitFor("the Job", async () => {
      const found = await admin.get(key);
      return conditionOf(found, "Complete")?.status === "True" ? found : undefined;
    });
    expect(valueAt(done, "status", "succeeded")).toBe(1);
  });

  test("lets the pods of a deleted Deployment go", async () => {
    const { admin } = fleet().spoke(0);
    const pods = { apiVersion: "v1", kind: "Pod", labelSelector: "app=gone" };
    await admin.create(deployment("gone", 1));
    await waitFor("a pod", async () => (await admin.list(pods)).length === 1);
    await admin.remove(deploymentKey("gone"));
    await waitFor("the pod to go", async () => (await admin.list(pods)).length === 0);
    expect(await admin.get(deploymentKey("gone"))).toBeUndefined();
  });
});

test("a cluster without kwok has no node, and nothing becomes ready", async () => {
  const { admin } = fleet().hub;
  await admin.create(deployment("stuck", 1));
  const pod = await waitFor("an unschedulable pod", async () => {
    const pods = await admin.list({ apiVersion: "v1", kind: "Pod", namespace: "default" });
    return pods.find((found) => conditionOf(found, "PodScheduled")?.reason === "Unschedulable");
  });
  expect(valueAt(pod, "status", "phase")).toBe("Pending");
});

describe("the audit log", () => {
  test("counts the requests of a user exactly", async () => {
    const spoke = fleet().spoke(0);
    const since = new Date();
    const { token } = await spoke.serviceAccountToken({
      namespace: "counting",
      name: "counter",
      namespaceRules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create", "get"] }],
    });
    const as = bearer(spoke, token);
    const path = "/api/v1/namespaces/counting/configmaps";
    for (let count = 0; count < 20; count += 1) {
      expect(await as("POST", path, { body: { metadata: { name: `map-${count}` } } })).toBe(201);
    }
    expect(await as("GET", `${path}/map-3`)).toBe(200);
    expect(await as("DELETE", `${path}/map-3`)).toBe(403);

    const user = "system:serviceaccount:counting:counter";
    expect(await spoke.auditLog.countByVerb({ user, since })).toEqual({
      create: 20,
      get: 1,
      delete: 1,
    });
    const [refused] = await spoke.auditLog.requests({ user, verb: "delete" });
    expect(refused).toMatchObject({
      resource: "configmaps",
      namespace: "counting",
      name: "map-3",
      code: 403,
      user,
    });
    expect(refused?.answeredAt.getTime()).toBeGreaterThanOrEqual(since.getTime());
  });

  test("knows open watches before they end, once", async () => {
    const spoke = fleet().spoke(0);
    const { token } = await spoke.serviceAccountToken({
      namespace: "watching",
      name: "watcher",
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["watch", "list"] }],
    });
    const stop = new AbortController();
    const watchPath = "/api/v1/configmaps?watch=1";
    const watching = bearer(spoke, token)("GET", watchPath, { signal: stop.signal });
    const filter = { user: "serviceaccount:watching:" };
    await waitFor("the watch", async () => (await spoke.auditLog.requests(filter)).length === 1);
    stop.abort();
    await expect(watching).rejects.toThrow("aborted");
    expect(await spoke.auditLog.countByVerb(filter)).toEqual({ watch: 1 });
  });
});

describe("an API server", () => {
  test("answers nothing while it is paused, and goes on afterwards", async () => {
    const spoke = fleet().spoke(0);
    spoke.pause();
    const answer = spoke.admin.request("GET", "/version");
    const first = await Promise.race([answer, once(AbortSignal.timeout(300), "abort")]);
    expect(first).not.toHaveProperty("major");
    spoke.resume();
    expect(await answer).toMatchObject({ major: "1", minor: "36" });
  });

  test("stops and starts on the same port with what it had stored", async () => {
    const spoke = fleet().spoke(0);
    const { server } = spoke;
    await spoke.admin.apply(configMap("survivor"));
    await spoke.stop();
    await expect(spoke.admin.request("GET", "/version")).rejects.toThrow("ECONNREFUSED");
    await spoke.start();
    expect(spoke.server).toBe(server);
    expect(
      await spoke.admin.get({ ...configMap("survivor"), namespace: "default", name: "survivor" }),
    ).toBeDefined();
  });

  test("refuses to create what is there, with its status", async () => {
    const { admin } = fleet().spoke(0);
    await admin.apply(configMap("present"));
    const refused = admin.create(configMap("present"));
    await expect(refused).rejects.toThrow(AdminError);
    await expect(refused).rejects.toMatchObject({ status: 409 });
  });

  test("says so when its port was taken meanwhile", async () => {
    const spoke = fleet().spoke(0);
    const port = Number(new URL(spoke.server).port);
    await spoke.stop();
    const thief = createServer((socket) => socket.destroy()).listen(port, "127.0.0.1");
    await once(thief, "listening");
    await expect(spoke.start()).rejects.toThrow(new RegExp(`Port ${port} of \\S+ is taken`));
    thief.close();
    await once(thief, "close");
    await spoke.start();
    expect(await spoke.admin.request("GET", "/readyz")).toBe("ok");
  });

  test("is reached through the proxy, which counts and breaks", async () => {
    const { proxy, caPem, adminIdentity } = fleet().spoke(0);
    const admin = openAdminClient(proxy.url, caPem, adminIdentity);
    proxy.resetCounts();
    await admin.request("GET", "/version");
    expect(proxy.counts.connections).toBe(1);
    expect(proxy.counts.bytesDown).toBeGreaterThan(500);
    await proxy.setMode("refuse");
    await expect(admin.request("GET", "/version")).rejects.toThrow(/ECONN(REFUSED|RESET)/);
    await proxy.setMode("open");
    expect(await admin.request("GET", "/version")).toMatchObject({ minor: "36" });
    admin.close();
  });
});

interface Extra {
  readonly body?: object;
  readonly signal?: AbortSignal;
}

/** Sends requests with a token and gives their status codes. */
function bearer(cluster: Cluster, token: string) {
  const agent = new Agent({ ca: cluster.caPem });
  return async (method: string, path: string, { body, signal }: Extra = {}) => {
    const answer = await exchange({
      url: `${cluster.server}${path}`,
      method,
      agent,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    return answer.status;
  };
}

const configMap = (name: string): Manifest => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "default", name },
});

const deploymentKey = (name: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  namespace: "default",
  name,
});

const template = (name: string, extra: object = {}) => ({
  metadata: { labels: { app: name } },
  spec: { containers: [{ name: "main", image: "example.invalid/main" }], ...extra },
});

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
