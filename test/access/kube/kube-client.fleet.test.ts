// Servers of its own: the API server is stopped under open requests.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";

import { connectHub, type HubConnection } from "../../../access/hub/hub.ts";
import { nextPage, type PageQuery } from "../../../access/kube/api-answer.ts";
import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeClient, WatchEvent } from "../../../access/kube/kube-client.ts";
import { collectionPath } from "../../../access/kube/kube-path.ts";
import { Reflector } from "../../../access/kube/reflector.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import type { Cluster } from "../../fleet/fleet.ts";
import { forgetVersions } from "../../fleet/forget-versions.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { portOf } from "../../fleet/ports.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { rethrow } from "../../support/rethrow.ts";

const fleet = useFleet({ spokes: [{ name: "spoke-1", kwok: false }] });
const resource = knownResource("v1", "ConfigMap");
const fieldManager = "knfleet-test";

let hub: HubConnection;
let client: KubeClient;
let namespace: string;
let count = 0;

beforeAll(async () => {
  hub = await connected(fleet().hub.adminKubeconfigPath);
  client = hub.client;
});

afterAll(async () => hub[Symbol.asyncDispose]());

beforeEach(async () => {
  count += 1;
  namespace = `client-${count}`;
  await client.create(
    { resource: knownResource("v1", "Namespace") },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    {},
    soon(),
  );
});

function connected(kubeconfig: string): Promise<HubConnection> {
  return connectHub({
    clock: systemClock,
    kubeconfig,
    environment: {},
    userAgent: "knfleet-client-test/0",
  });
}

function soon(ms = 60_000): AbortSignal {
  return AbortSignal.timeout(ms);
}

function refOf(name: string): { resource: typeof resource; namespace: string; name: string } {
  return { resource, namespace, name };
}

function configMap(name: string, data: Readonly<Record<string, string>> = {}): Manifest {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data };
}

function apply(name: string, data?: Readonly<Record<string, string>>, by = client) {
  const object = configMap(name, data);
  return by.apply(refOf(name), object, { fieldManager, force: true, metadataOnly: true }, soon());
}

async function errorOf(work: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ApiError) return error;
  throw new Error("Expected an ApiError", { cause: error });
}

describe("an object", () => {
  test("that does not exist is undefined, of a kind that is served or not", async () => {
    const unknown = {
      apiVersion: "example.test/v1",
      kind: "Thing",
      plural: "things",
      namespaced: false,
    };
    expect(await client.get(refOf("none"), {}, soon())).toBeUndefined();
    expect(await client.get({ resource: unknown, name: "none" }, {}, soon())).toBeUndefined();
    expect(await client.remove(refOf("none"), {}, soon())).toBe("absent");
  });

  test("is applied, read, patched, replaced and removed", async () => {
    expect(await apply("a", { a: "1" })).toMatchObject({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "a", managedFields: [{ manager: fieldManager, operation: "Apply" }] },
    });
    await client.patch(refOf("a"), [{ op: "add", path: "/data/b", value: "2" }], {}, soon());
    const merged = await client.patch(refOf("a"), { data: { c: "3" } }, {}, soon());
    expect(merged["data"]).toEqual({ a: "1", b: "2", c: "3" });
    const replaced = await client.replace(refOf("a"), { ...merged, data: {} }, {}, soon());
    const stale = client.replace(refOf("a"), { ...merged, data: {} }, {}, soon());
    expect(await errorOf(stale)).toMatchObject({ status: 409, reason: "Conflict" });
    const otherUid = client.remove(refOf("a"), { uid: "another" }, soon());
    expect(await errorOf(otherUid)).toMatchObject({ status: 409 });
    const { uid } = replaced.metadata;
    const held = { metadata: { finalizers: ["example.com/hold"] } };
    await client.patch(refOf("a"), held, {}, soon());
    const remove = () =>
      client.remove(refOf("a"), { uid, propagationPolicy: "Background" }, soon());
    expect(await remove()).toMatchObject({ metadata: { uid, ...held.metadata } });
    await client.patch(refOf("a"), { metadata: { finalizers: null } }, {}, soon());
    expect(await remove()).toBe("absent");
    const again = await apply("a", { a: "1" });
    expect(await client.remove(refOf("a"), { uid: again.metadata.uid }, soon())).toBe("gone");
    expect(await client.get(refOf("a"), { metadataOnly: true }, soon())).toBeUndefined();
  });

  test("that exists cannot be created again", async () => {
    await client.create({ resource, namespace }, configMap("a"), {}, soon());
    const again = client.create({ resource, namespace }, configMap("a"), {}, soon());
    expect(await errorOf(again)).toMatchObject({ status: 409, reason: "AlreadyExists" });
  });

  test("of two managers is a conflict that names the other one", async () => {
    await apply("a", { a: "1" });
    const options = { fieldManager: "other", dryRun: true };
    const error = await errorOf(
      client.apply(refOf("a"), configMap("a", { a: "2" }), options, soon()),
    );
    expect(error.status).toBe(409);
    expect(error.causes).toEqual([
      {
        reason: "FieldManagerConflict",
        field: ".data.a",
        message: `conflict with "${fieldManager}"`,
      },
    ]);
  });
});

describe("a collection", () => {
  test("of more than a page is listed whole, and deleted by label", async () => {
    const names = Array.from({ length: 510 }, (_, index) => `many-${index}`);
    const labels = { set: "many" };
    await Promise.all(
      names.map((name) => {
        const object = { ...configMap(name), metadata: { namespace, name, labels } };
        const options = { fieldManager, force: true, metadataOnly: true };
        return client.apply(refOf(name), object, options, soon(50_000));
      }),
    );
    const ref = { resource, namespace, labelSelector: "set=many" };
    const listed = await client.list(ref, { metadataOnly: true }, soon());
    expect(new Set(listed.items.map(({ metadata }) => metadata.name))).toEqual(new Set(names));
    expect(listed.items[0]).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" });
    const deleted = await client.removeCollection(ref, { propagationPolicy: "Background" }, soon());
    expect(deleted).toHaveLength(510);
    // The server says `items: null`.
    expect((await client.list(ref, { metadataOnly: true }, soon())).items).toEqual([]);
  });

  test("that a server no longer knows the begun list of is read anew, and whole", async () => {
    const spoke = fleet().spoke(0);
    const names = Array.from({ length: 7 }, (_, index) => `old-${index}`);
    for (const name of names) {
      const metadata = { namespace: "default", name, labels: { set: "old" } };
      await spoke.admin.apply({ ...configMap(name), metadata });
    }
    await using first = await connected(spoke.adminKubeconfigPath);
    const begun = await readerOf(first.client)({ limit: 3, continue: undefined });
    const token = valueAt(begun, "metadata", "continue");
    const rest = { limit: 3, continue: String(token) };
    const later = { namespace: "default", name: "later" };
    await spoke.admin.apply({ ...configMap("later"), metadata: later });
    await forgetVersions(spoke);
    // The first server still has the list in its memory; one that comes has not.
    await using second = await connected((await secondServer()).kubeconfig);
    const read = readerOf(second.client);
    expect(await errorOf(read(rest))).toMatchObject({ status: 410, reason: "Expired" });
    const { page, isAnew } = await nextPage(read, rest);
    const items = valueAt(page, "items");
    expect(isAnew).toBe(true);
    expect(Array.isArray(items) && items.map((item) => valueAt(item, "metadata", "name"))).toEqual(
      names,
    );
  });

  test("is not deleted with an empty selector", async () => {
    const all = client.removeCollection({ resource, namespace, labelSelector: " " }, {}, soon());
    await expect(all).rejects.toThrow("label selector is empty");
  });
});

describe("a watch", () => {
  test("begins with what is there, says when that is complete, and goes on", async () => {
    await apply("before");
    const stop = new AbortController();
    const events: WatchEvent[] = [];
    for await (const event of client.watch({ resource, namespace }, {}, stop.signal)) {
      events.push(event);
      if (event.type === "BOOKMARK" && event.initialEventsEnd) await apply("after");
      if (event.type === "ADDED" && event.object.metadata.name === "after") break;
    }
    stop.abort();
    expect(events.map(({ type }) => type)).toContain("BOOKMARK");
    expect(events[0]).toMatchObject({ type: "ADDED" });
  });
});

describe("while one of two API servers ends", () => {
  test("requests go on although watches are open", { timeout: 600_000 }, async () => {
    const spoke = fleet().spoke(0);
    const { port: second } = await secondServer();
    const first = Number(new URL(spoke.server).port);
    const forwarder = await startForwarder(first);
    const kubeconfig = await spoke.writeKubeconfig("forwarded.kubeconfig", {
      identity: spoke.adminIdentity,
      server: `https://127.0.0.1:${forwarder.port}`,
    });
    await using connection = await connected(kubeconfig);
    const through = connection.client;
    const seen: string[] = [];
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    namespace = "default";
    const reflectors = Array.from(
      { length: 10 },
      () =>
        new Reflector(
          { clock: systemClock, client: through, ref: { resource, namespace } },
          {
            onChange: ({ metadata }) => seen.push(metadata.name),
            onDelete: () => undefined,
            onBug: rethrow,
          },
          stop.signal,
        ),
    );
    await Promise.all(reflectors.map(({ synced }) => synced));
    forwarder.target = second;
    const ending = apiServerOf(spoke);
    const ended = spoke.stop("SIGTERM");
    const started = performance.now();
    let longestMs = 0;
    for (let index = 0; performance.now() - started < 8_000; index += 1) {
      const before = performance.now();
      await apply(`goaway-${index}`, { index: `${index}` }, through);
      longestMs = Math.max(longestMs, performance.now() - before);
    }
    // Less than a request may take that nobody answers.
    expect(longestMs).toBeLessThan(25_000);
    // It would serve the open watches for a minute.
    if (ending !== undefined) process.kill(ending, "SIGKILL");
    await ended;
    await apply("last", {}, through);
    await vi.waitFor(() => expect(seen.filter((name) => name === "last")).toHaveLength(10), {
      timeout: 60_000,
      interval: 100,
    });
  });
});

/** Reads pages of what the label `set=old` selects. */
function readerOf(from: KubeClient): (query: PageQuery) => Promise<unknown> {
  const ref = { resource, namespace: "default", labelSelector: "set=old" };
  return (query) => from.request("GET", collectionPath(ref, { ...query }), undefined, soon());
}

/** A second API server on the same etcd, until the end of the test. */
async function secondServer(): Promise<{ readonly port: number; readonly kubeconfig: string }> {
  const spoke = fleet().spoke(0);
  const beside = await spoke.startBeside();
  onTestFinished(() => beside[Symbol.asyncDispose]());
  const { port } = beside;
  const kubeconfig = await spoke.writeKubeconfig("second.kubeconfig", {
    identity: spoke.adminIdentity,
    server: `https://127.0.0.1:${port}`,
  });
  return { port, kubeconfig };
}

/** The API server's process of a cluster. */
function apiServerOf({ pids }: Cluster): number | undefined {
  return pids.find((pid) => {
    const { stdout } = spawnSync("ps", ["-o", "comm=", "-p", String(pid)], { encoding: "utf8" });
    return stdout.startsWith("kube-apiserver");
  });
}

/** Forwards TCP to a port that can be changed for new connections. */
async function startForwarder(target: number): Promise<{ readonly port: number; target: number }> {
  const sockets = new Set<Socket>();
  const server = createServer((from) => {
    const to = connect(forwarder.target, "127.0.0.1");
    for (const socket of [from, to]) {
      sockets.add(socket);
      socket.on("error", () => {
        from.destroy();
        to.destroy();
      });
    }
    from.pipe(to).pipe(from);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const forwarder = { port: portOf(server.address()), target };
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return forwarder;
}
