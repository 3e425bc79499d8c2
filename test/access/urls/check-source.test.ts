import { expect, onTestFinished, test } from "vitest";

import { allowedSourceOf } from "../../../access/urls/allowed-source.ts";
import {
  CheckSource,
  type CheckSourceOptions,
  type UrlQuestion,
} from "../../../access/urls/check-source.ts";
import { createAuthority } from "../../fleet/certificates.ts";
import type { ApiStub, StubAnswer } from "../api-stub.ts";
import { authority, stub } from "../loopback.ts";

const { signal } = new AbortController();
const owner = "platform";

function serverOf(answer: StubAnswer): Promise<ApiStub> {
  return stub(() => answer, { http1: true });
}

function sourceFor({ server }: ApiStub, options: Partial<CheckSourceOptions> = {}): CheckSource {
  const sources = [allowedSourceOf(`${server}/gates/`)].filter((one) => one !== undefined);
  const source = new CheckSource({
    sources,
    userAgent: "knfleet-test",
    caPem: authority.certificatePem,
    ...options,
  });
  onTestFinished(() => source[Symbol.asyncDispose]());
  return source;
}

function asked(server: ApiStub, question: Partial<UrlQuestion> = {}, options = {}) {
  const url = `${server.server}/gates/knative`;
  return sourceFor(server, options).ask({ owner, url, ...question }, signal);
}

test("a GET has the path after that of the URL, and a POST its body as JSON", async () => {
  const server = await serverOf({ body: "{}" });
  expect(await asked(server, { path: "/api/v1/query?query=up" })).toEqual({
    status: 200,
    text: "{}",
  });
  await asked(server, { body: { stage: "canary" }, authorization: "Bearer T1" });
  expect(server.requests).toMatchObject([
    { method: "GET", path: "/gates/knative/api/v1/query?query=up", authorization: undefined },
    {
      method: "POST",
      path: "/gates/knative",
      authorization: "Bearer T1",
      body: '{"stage":"canary"}',
    },
  ]);
});

test("T-31 nobody is asked at a URL that is not below a source", async () => {
  const server = await serverOf({ body: "{}" });
  for (const url of [`${server.server}/other`, `${server.server}/gates/../other`, "file:///etc"]) {
    await expect(asked(server, { url })).rejects.toMatchObject({ failure: "notAllowed" });
  }
  await expect(asked(server, {}, { sources: [] })).rejects.toThrow(
    "the controller was started without --check-source",
  );
  expect(server.connections).toBe(0);
});

test("T-12 no redirect is followed", async () => {
  const server = await serverOf({ status: 302, headers: { location: "/gates/other" } });
  expect(await asked(server)).toMatchObject({ status: 302 });
  expect(server.requests).toHaveLength(1);
});

const toThisMachine: CheckSourceOptions["resolve"] = (_host, _options, callback) =>
  callback(null, [{ address: "127.0.0.1", family: 4 }]);

test("T-11 a name that leads to this machine is refused", async () => {
  const server = await serverOf({ body: "{}" });
  const host = `https://gate.example:${server.port}/`;
  const sources = [allowedSourceOf(host)].filter((one) => one !== undefined);
  await expect(
    asked(server, { url: host }, { sources, resolve: toThisMachine }),
  ).rejects.toMatchObject({
    failure: "notAllowed",
    message: expect.stringContaining("forbidden address"),
  });
  expect(server.connections).toBe(0);
});

test("a server is verified by the certificates that the check names", async () => {
  const server = await serverOf({ body: "{}" });
  const { certificatePem } = createAuthority("another");
  await expect(asked(server, { caPem: certificatePem })).rejects.toMatchObject({
    failure: "untrusted",
  });
  const own = { caPem: authority.certificatePem };
  expect(await asked(server, own, { caPem: certificatePem })).toMatchObject({ status: 200 });
});

test("more than 64 KiB are no answer", async () => {
  const server = await serverOf({ body: "x".repeat(70_000) });
  await expect(asked(server)).rejects.toMatchObject({ failure: "tooLarge" });
});

test("a server that does not answer is left when the time is over", async () => {
  const server = await serverOf({ hang: true });
  const url = `${server.server}/gates/`;
  await expect(
    sourceFor(server).ask({ owner, url }, AbortSignal.timeout(50)),
  ).rejects.toMatchObject({
    name: "TimeoutError",
  });
});

/** Asks one question after another, and returns how many connections that took. */
async function connectionsFor(
  server: ApiStub,
  source: CheckSource,
  questions: readonly Partial<UrlQuestion>[],
): Promise<number> {
  const before = server.connections;
  for (const question of questions) {
    // oxlint-disable-next-line no-await-in-loop -- one after another
    await source.ask({ owner, url: `${server.server}/gates/knative`, ...question }, signal);
  }
  return server.connections - before;
}

// A connection that has just been used may not be free yet.
const few = 3;

test("a connection serves the next question, but none of another owner, authority or credential", async () => {
  const server = await serverOf({ body: "{}" });
  const source = sourceFor(server);
  const same = Array.from({ length: 20 }, (_, at) => ({ path: `?query=${at}` }));
  expect(await connectionsFor(server, source, same)).toBeLessThanOrEqual(few);
  const others = [
    { owner: "other" },
    { caPem: authority.certificatePem },
    { authorization: "Bearer T1" },
    { authorization: "Bearer T2" },
  ];
  for (const question of others) {
    // oxlint-disable-next-line no-await-in-loop -- one after another
    expect(await connectionsFor(server, source, [question])).toBe(1);
  }
});

test("the connections of 64 owners are kept, and then the oldest one goes", async () => {
  const server = await serverOf({ body: "{}" });
  const source = sourceFor(server);
  const teams = Array.from({ length: 65 }, (_, at) => ({ owner: `team-${at}` }));
  expect(await connectionsFor(server, source, teams)).toBe(65);
  const [first = {}, second = {}] = teams;
  const again = Array.from({ length: 20 }, () => second);
  expect(await connectionsFor(server, source, again)).toBeLessThanOrEqual(few);
  expect(await connectionsFor(server, source, [first])).toBe(1);
});

test("a connection that the server closes under a question costs no answer, and one that it always closes does", async () => {
  let requests = 0;
  const server = await stub(() => ({ reset: (requests += 1) === 2 || requests > 3 }), {
    http1: true,
  });
  const source = sourceFor(server);
  await connectionsFor(server, source, [{}, {}]);
  expect(requests).toBe(3);
  await expect(connectionsFor(server, source, [{}])).rejects.toMatchObject({ failure: "reset" });
  expect(requests).toBe(5);
});
