import type { Socket } from "node:net";

import { expect, test } from "vitest";

import { type EndpointCheck, endpointChecker } from "../../../access/profiles/check-endpoint.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { createAuthority } from "../../fleet/certificates.ts";
import { type StubAnswer, startApiStub } from "../api-stub.ts";
import { plainServer } from "../plain-server.ts";

const authority = createAuthority("spoke");
const hosts = ["127.0.0.1"];
const identity = authority.issue({ commonName: "spoke", usage: "server", hosts });
const ca = Buffer.from(authority.certificatePem).toString("base64");
const otherCa = Buffer.from(createAuthority("other").certificatePem).toString("base64");
const check = endpointChecker({ clock: systemClock, userAgent: "test", environment: {} });
const checkInPod = endpointChecker({
  clock: systemClock,
  userAgent: "test",
  environment: { KUBERNETES_SERVICE_HOST: "10.0.0.1" },
});
const { signal } = new AbortController();
const json = { "content-type": "application/json" };
const ready: StubAnswer = { body: "ok" };
const version: StubAnswer = { headers: json, body: '{"gitVersion":"v1.36.1"}' };
const denied = (status: number): StubAnswer => ({ status, headers: json, body: "{}" });

async function checkStub(answers: Readonly<Record<string, StubAnswer>>, trust = ca) {
  const answer = ({ path }: { readonly path: string }): StubAnswer => answers[path] ?? {};
  await using stub = await startApiStub({ identity, answer });
  const cluster = { server: stub.server, "certificate-authority-data": trust };
  const [result, requests] = [await check(cluster, signal), stub.requests];
  expect(requests.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
  return result;
}

test.each<{
  readonly name: string;
  readonly readyz: StubAnswer;
  readonly version: StubAnswer;
  readonly result: string | undefined;
}>([
  { name: "is ready", readyz: ready, version, result: "v1.36.1" },
  { name: "knows nobody", readyz: denied(401), version: denied(401), result: undefined },
  { name: "lets nobody in", readyz: denied(403), version: denied(403), result: undefined },
  {
    name: "stops",
    readyz: { status: 500, body: "[-]shutdown failed" },
    version,
    result: "v1.36.1",
  },
  {
    name: "redirects to a login",
    readyz: { status: 302, headers: { location: "/login" } },
    version,
    result: "v1.36.1",
  },
])("a server that $name answers", async ({ readyz, version: told, result }) => {
  expect(await checkStub({ "/readyz": readyz, "/version": told })).toEqual({
    kind: "answers",
    kubernetes: result,
  });
});

test.each<{ readonly name: string; readonly readyz: StubAnswer; readonly version?: StubAnswer }>([
  { name: "whose etcd fails", readyz: { status: 500, body: "[-]etcd failed: reason withheld" } },
  { name: "behind a balancer without servers", readyz: { status: 503, body: "no upstream" } },
  {
    name: "that its proxy does not reach",
    readyz: {
      status: 401,
      headers: { "content-type": "text/plain" },
      body: "managed cluster authentication failed: x",
    },
  },
  { name: "that breaks off", readyz: { reset: true } },
  { name: "that is none", readyz: denied(404), version: denied(404) },
])("a server $name does not answer", async ({ readyz, version: told = version }) => {
  expect(await checkStub({ "/readyz": readyz, "/version": told })).toMatchObject(unreachable);
});

test.each<readonly [string, () => Promise<EndpointCheck>, RegExp]>([
  [
    "where nobody listens",
    () => check({ server: "https://127.0.0.1:1", "certificate-authority-data": ca }, signal),
    /refused the connection/,
  ],
  ["of a server with another certificate", () => checkStub({}, otherCa), /is not trusted/],
  [
    "of no TLS server",
    () => checkPlain((socket) => void socket.end("SSH-2.0-a\r\n")),
    /cannot be reached|broke the connection/,
  ],
  [
    "that closes each connection",
    () => checkPlain((socket) => socket.resetAndDestroy()),
    /broke the connection/,
  ],
  ["that says nothing", () => checkPlain(() => undefined), /in time/],
])("a port %s looks like any other, and only the log tells more", async (_, checked, said) => {
  const { cause, ...told } = { cause: undefined, ...(await checked()) };
  expect(told).toEqual(unreachable);
  expect(String(cause)).toMatch(said);
});

/** Checks a TCP server that is no TLS server. */
async function checkPlain(onSocket: (socket: Socket) => unknown): Promise<EndpointCheck> {
  const server = await plainServer(onSocket);
  return check({ server, "certificate-authority-data": ca }, signal);
}

const unreachable = {
  kind: "fails",
  reason: "Unreachable",
  message: "No API server that is ready and trusted answered within 10 s",
};

test("addresses of the pod itself are refused", async () => {
  const local = { server: "https://127.0.0.1:6443", "certificate-authority-data": ca };
  const invalid = { kind: "fails", reason: "EndpointInvalid" };
  expect(await checkInPod(local, signal)).toMatchObject(invalid);
  expect(await check({ ...local, server: "ftp://a" }, signal)).toMatchObject(invalid);
});
