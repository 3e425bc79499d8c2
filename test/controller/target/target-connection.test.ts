import { expect, test } from "vitest";

import { ApiError, ConnectionError } from "../../../access/kube/api-error.ts";
import {
  TargetConnection,
  TargetConnections,
} from "../../../controller/target/target-connection.ts";
import { bareClient } from "../../support/bare-client.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const { signal } = new AbortController();

/** A connection to a cluster that answers so after some ms, and what it is asked. */
function cluster(answer: () => unknown, { ms = 0, clusterId }: Answering = {}) {
  const paths: string[] = [];
  const clock = new FakeClock();
  const answered = async <T>(path: string, value: () => T): Promise<T> => {
    paths.push(path);
    await clock.advance(ms);
    return value();
  };
  const client = bareClient({
    request: (_method, path) => answered(path, answer),
    get: ({ name }) =>
      answered(name, () => {
        answer();
        const metadata = { name, uid: "cluster", resourceVersion: "1" };
        return { apiVersion: "v1", kind: "Namespace", metadata };
      }),
  });
  const known = clusterId === undefined ? {} : { clusterId };
  const options = { clock, fieldManager: "knfleet-hub", ...known };
  return { connection: new TargetConnection({ client, signal }, options), client, clock, paths };
}

interface Answering {
  readonly ms?: number;
  readonly clusterId?: string;
}

function failing(error: Error) {
  return cluster(() => {
    throw error;
  });
}

test("a cluster is asked once for its version, until that is forgotten", async () => {
  const { connection, paths } = cluster(() => ({ gitVersion: "v1.35.2" }));
  expect(await connection.version(signal)).toBe("v1.35.2");
  expect(await connection.version(signal)).toBe("v1.35.2");
  expect(paths).toEqual(["/version"]);
  connection.forgetVersion();
  expect(await connection.version(signal)).toBe("v1.35.2");
  expect(paths).toHaveLength(2);
});

test("a cluster is asked once for its identity, and not where that is known", async () => {
  const { connection, paths } = cluster(() => undefined);
  expect(await connection.clusterId(signal)).toBe("cluster");
  expect(await connection.clusterId(signal)).toBe("cluster");
  expect(paths).toEqual(["kube-system"]);
  const hub = cluster(() => undefined, { clusterId: "hub" });
  expect(await hub.connection.clusterId(signal)).toBe("hub");
  expect(hub.paths).toEqual([]);
});

test.each([
  { ms: 39, isFar: false },
  { ms: 40, isFar: true },
])("a cluster that answers after $ms ms is far: $isFar", async ({ ms, isFar }) => {
  const { connection } = cluster(() => ({ gitVersion: "v1.35.2" }), { ms });
  await connection.version(signal);
  expect(connection.isFar).toBe(isFar);
});

test("all callers get the same connection over a client, and another one over another client", () => {
  const { client, clock } = cluster(() => undefined);
  const connections = new TargetConnections(clock);
  const options = { fieldManager: "knfleet-hub" };
  const one = connections.over({ client, signal }, options);
  expect(connections.over({ client, signal }, options)).toBe(one);
  expect(connections.over({ client: { ...client }, signal }, options)).not.toBe(one);
});

test.each([undefined, null, "v1.35.2", {}, { gitVersion: 1 }])(
  "the answer %j tells nothing",
  async (answer) => {
    expect(await cluster(() => answer).connection.version(signal)).toBeUndefined();
  },
);

function refusalOf(status: number): ApiError {
  const facts = { status, reason: "", message: "", causes: [], isStatus: true };
  return new ApiError({ ...facts, request: "GET /version" });
}

test.each([403, 404])("a cluster that answers %i does not tell", async (status) => {
  const { connection } = failing(refusalOf(status));
  await expect(connection.version(signal)).resolves.toBeUndefined();
  await expect(connection.clusterId(signal)).resolves.toBeUndefined();
});

test.each([
  { name: "429", error: refusalOf(429) },
  { name: "500", error: refusalOf(500) },
  { name: "503", error: refusalOf(503) },
  {
    name: "nothing",
    error: new ConnectionError("refused", "https://a:6443 refused the connection"),
  },
])("a cluster that answers $name is to be asked again", async ({ error }) => {
  const { connection } = failing(error);
  await expect(connection.version(signal)).rejects.toBe(error);
  await expect(connection.clusterId(signal)).rejects.toBe(error);
});
