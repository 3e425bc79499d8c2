import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";

import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";

import { probeMessages } from "../../controller/guard/prober.ts";
import { anchorNameOf } from "../../installation/anchor.ts";
import { valueAt } from "../fleet/json-record.ts";
import { type SimulatedSpoke, type Simulator, startSimulator } from "./simulator.ts";

let simulator: Simulator;

beforeEach(async () => {
  simulator = await startSimulator({ spokes: 2, availableAfterMs: 20 });
});

afterEach(() => simulator[Symbol.asyncDispose]());

function spokeAt(position: number): SimulatedSpoke {
  const spoke = simulator.spokes[position];
  if (spoke === undefined) throw new Error(`There is no spoke ${position}`);
  return spoke;
}

function sessionTo({ serverName }: SimulatedSpoke): ClientHttp2Session {
  const session = connect(simulator.server, { ca: simulator.caPem, servername: serverName });
  session.on("error", () => undefined);
  onTestFinished(() => session.destroy());
  return session;
}

interface Ask {
  readonly method?: string;
  readonly path: string;
  readonly body?: object;
  readonly token?: string;
}

function send(
  spoke: SimulatedSpoke,
  { method = "GET", path, body, token }: Ask,
): ClientHttp2Stream {
  const isApply = method === "PATCH";
  const stream = sessionTo(spoke).request({
    ":method": method,
    ":path": path,
    authorization: `Bearer ${token ?? spoke.token}`,
    "user-agent": "tester",
    ...(body === undefined
      ? {}
      : { "content-type": isApply ? "application/apply-patch+yaml" : "application/json" }),
  });
  stream.end(body === undefined ? undefined : JSON.stringify(body));
  return stream;
}

async function answerTo(
  spoke: SimulatedSpoke,
  ask: Ask,
): Promise<{ status: unknown; body: unknown }> {
  const stream = send(spoke, ask);
  const [headers] = await once(stream, "response");
  return { status: valueAt(headers, ":status"), body: JSON.parse(await text(stream)) };
}

const path = "/api/v1/namespaces/default/configmaps";
const configMap = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "one" },
  data: { a: "b" },
};
const version = { path: "/version" };

test("each server name is a cluster of its own, with an identity of its own", async () => {
  expect(await answerTo(spokeAt(0), { method: "POST", path, body: configMap })).toMatchObject({
    status: 201,
  });
  expect(await answerTo(spokeAt(1), { path: `${path}/one` })).toMatchObject({ status: 404 });
  const uids = await Promise.all(
    simulator.spokes.map((spoke) => answerTo(spoke, { path: "/api/v1/namespaces/kube-system" })),
  );
  expect(new Set(uids.map(({ body }) => valueAt(body, "metadata", "uid"))).size).toBe(2);
});

test("an apply that changes nothing leaves the version as it is", async () => {
  const apply = {
    method: "PATCH",
    path: `${path}/one?fieldManager=us&force=true`,
    body: configMap,
  };
  const versions: unknown[] = [];
  for (const data of [{ a: "b" }, { a: "b" }, { a: "c" }]) {
    const { body } = await answerTo(spokeAt(0), { ...apply, body: { ...configMap, data } });
    versions.push(valueAt(body, "metadata", "resourceVersion"));
  }
  expect(versions[1]).toBe(versions[0]);
  expect(versions[2]).not.toBe(versions[0]);
});

test("what a deleted object owns goes, too", async () => {
  const { body: owner } = await answerTo(spokeAt(0), { method: "POST", path, body: configMap });
  const uid = String(valueAt(owner, "metadata", "uid"));
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "one", uid }];
  const body = { ...configMap, metadata: { name: "two", ownerReferences } };
  await answerTo(spokeAt(0), { method: "POST", path, body });
  await answerTo(spokeAt(0), { method: "DELETE", path: `${path}/one` });
  await delay(20);
  expect([...spokeAt(0).store.all("/ConfigMap")]).toEqual([]);
});

test("what a deleted object owned stays until its finalizers go", async () => {
  const { body: owner } = await answerTo(spokeAt(0), { method: "POST", path, body: configMap });
  const uid = String(valueAt(owner, "metadata", "uid"));
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "one", uid }];
  const metadata = { name: "held", ownerReferences, finalizers: ["example.com/held"] };
  await answerTo(spokeAt(0), { method: "POST", path, body: { ...configMap, metadata } });
  await answerTo(spokeAt(0), { method: "DELETE", path: `${path}/one` });
  await vi.waitFor(async () => {
    const { status, body } = await answerTo(spokeAt(0), { path: `${path}/held` });
    expect(status).toBe(200);
    expect(valueAt(body, "metadata", "deletionTimestamp")).toBeDefined();
  });
  const released = {
    ...configMap,
    metadata: { name: "held", namespace: "default", ownerReferences },
  };
  await answerTo(spokeAt(0), { method: "PUT", path: `${path}/held`, body: released });
  expect((await answerTo(spokeAt(0), { path: `${path}/held` })).status).toBe(404);
});

test("an object with a finalizer stays until the finalizer goes, with a generation that is one higher", async () => {
  const spoke = spokeAt(0);
  const deployments = "/apis/apps/v1/namespaces/default/deployments";
  const metadata = { name: "held", finalizers: ["example.com/held"] };
  const body = { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: { replicas: 0 } };
  await answerTo(spoke, { method: "POST", path: deployments, body });
  const { body: left } = await answerTo(spoke, { method: "DELETE", path: `${deployments}/held` });
  expect(left).toMatchObject({ kind: "Deployment", metadata: { generation: 2 } });
  expect(valueAt(left, "metadata", "deletionTimestamp")).toBeTypeOf("string");
  const released = { ...body, metadata: { ...metadata, namespace: "default", finalizers: [] } };
  await answerTo(spoke, { method: "PUT", path: `${deployments}/held`, body: released });
  expect(await answerTo(spoke, { path: `${deployments}/held` })).toMatchObject({ status: 404 });
});

test("a status that changes nothing leaves the version as it is", async () => {
  const spoke = spokeAt(0);
  await answerTo(spoke, { method: "POST", path, body: configMap });
  const versions: unknown[] = [];
  for (const phase of ["a", "a", "b"]) {
    const body = { ...configMap, status: { phase } };
    const answer = await answerTo(spoke, { method: "PUT", path: `${path}/one/status`, body });
    versions.push(valueAt(answer.body, "metadata", "resourceVersion"));
  }
  expect(versions[1]).toBe(versions[0]);
  expect(versions[2]).not.toBe(versions[0]);
});

test("a guard refuses the dry-run deletion of an anchor, and nothing else", async () => {
  const spoke = spokeAt(0);
  const group = "/apis/admissionregistration.k8s.io/v1";
  const apiVersion = "admissionregistration.k8s.io/v1";
  const metadata = { name: "anchor-guard.hub" };
  const validations = [{ expression: "false", message: probeMessages.DELETE }];
  const kind = "ValidatingAdmissionPolicy";
  const policy = { apiVersion, kind, metadata, spec: { validations } };
  const binding = { apiVersion, kind: `${kind}Binding`, metadata, spec: {} };
  const plural = `${group}/validatingadmissionpolic`;
  await answerTo(spoke, { method: "POST", path: `${plural}ies`, body: policy });
  await answerTo(spoke, { method: "POST", path: `${plural}ybindings`, body: binding });
  const name = anchorNameOf({ kind: "KnativeServing", name: "knative-serving" });
  const anchor = { ...configMap, metadata: { name } };
  for (const body of [configMap, anchor]) await answerTo(spoke, { method: "POST", path, body });
  const statusOf = async (what: string): Promise<unknown> => {
    const { status } = await answerTo(spoke, { method: "DELETE", path: `${path}/${what}` });
    return status;
  };
  await expect.poll(() => statusOf(`${name}?dryRun=All`), { timeout: 10_000 }).toBe(403);
  expect(await statusOf("one?dryRun=All")).toBe(200);
  expect(await statusOf(name)).toBe(200);
});

test("a fault concerns one spoke, until it is taken away", async () => {
  const [bad, good] = [spokeAt(0), spokeAt(1)];
  for (const [faults, status] of [
    [{ refusal: 429 }, 429],
    [{ refusal: 503 }, 503],
    [{ hasExpiredTokens: true }, 401],
  ] as const) {
    bad.setFaults(faults);
    expect(await answerTo(bad, version)).toMatchObject({ status });
    expect(await answerTo(good, version)).toMatchObject({ status: 200 });
  }
  bad.setFaults({});
  expect(await answerTo(bad, version)).toMatchObject({ status: 200 });
  expect(await answerTo(bad, { ...version, token: "another" })).toMatchObject({ status: 401 });
});

test("a black hole never answers, and a slow spoke answers late", async () => {
  const [dark, slow] = [spokeAt(0), spokeAt(1)];
  dark.setFaults({ isBlackHole: true });
  slow.setFaults({ latencyMs: 60 });
  const lost = once(send(dark, version), "response").then(() => "answered");
  const beganAt = performance.now();
  await answerTo(slow, version);
  expect(performance.now() - beganAt).toBeGreaterThan(50);
  expect(await Promise.race([lost, delay(100).then(() => "silent")])).toBe("silent");
});

test("a watch tells what changes, and a frozen one does not", async () => {
  const spoke = spokeAt(0);
  const watch = send(spoke, { path: `${path}?watch=true&sendInitialEvents=true` });
  let told = "";
  watch.setEncoding("utf8").on("data", (chunk: string) => (told += chunk));
  await expect.poll(() => told).toContain("initial-events-end");
  await answerTo(spoke, { method: "POST", path, body: configMap });
  await expect.poll(() => told).toContain('"ADDED"');
  spoke.setFaults({ hasFrozenWatches: true });
  await answerTo(spoke, { method: "DELETE", path: `${path}/one` });
  await delay(50);
  expect(told).not.toContain('"DELETED"');
});

test("a watch by a label tells that an object loses the label, and has it again", async () => {
  const spoke = spokeAt(0);
  const watch = send(spoke, { path: `${path}?watch=true&labelSelector=team%3Da` });
  const told: unknown[] = [];
  watch.setEncoding("utf8").on("data", (chunk: string) => {
    for (const line of chunk.trim().split("\n")) {
      const event: unknown = JSON.parse(line);
      told.push([valueAt(event, "type"), valueAt(event, "object", "metadata", "labels")]);
    }
  });
  await once(watch, "response");
  const ask = { method: "PATCH", path: `${path}/one?fieldManager=us&force=true` };
  for (const labels of [{ team: "a" }, {}, { team: "a" }]) {
    const body = { ...configMap, metadata: { name: "one", labels } };
    await answerTo(spoke, { ...ask, body });
  }
  const team = { team: "a" };
  const events = ["ADDED", "DELETED", "ADDED"].map((type) => [type, team]);
  await expect.poll(() => told).toEqual(events);
});

test("a watch from a version that is still to come tells nothing before that", async () => {
  const spoke = spokeAt(0);
  const after = spoke.store.version + 2;
  const watch = send(spoke, { path: `${path}?watch=true&resourceVersion=${after}` });
  let told = "";
  watch.setEncoding("utf8").on("data", (chunk: string) => (told += chunk));
  await once(watch, "response");
  for (const name of ["first", "second", "third"]) {
    const body = { ...configMap, metadata: { name } };
    await answerTo(spoke, { method: "POST", path, body });
  }
  await expect.poll(() => told).toContain('"third"');
  expect(told).not.toMatch(/"(?:first|second)"/);
});

test("a workload becomes available after its delay", async () => {
  const spec = { replicas: 2, template: {} };
  const body = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" }, spec };
  const deployments = "/apis/apps/v1/namespaces/default/deployments";
  await answerTo(spokeAt(0), { method: "POST", path: deployments, body });
  await expect
    .poll(async () => (await answerTo(spokeAt(0), { path: `${deployments}/web` })).body)
    .toMatchObject({ status: { observedGeneration: 1, availableReplicas: 2 } });
});
