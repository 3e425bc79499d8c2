import { describe, expect, test } from "vitest";

import { RenewingCredentials } from "../../../access/plugins/credential-source.ts";
import { type CredentialSource, Secret } from "../../../access/plugins/credential.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { startApiStub } from "../api-stub.ts";
import {
  authority,
  failureOf,
  get,
  post,
  requesterTo,
  serverIdentity,
  stub,
  untilTheEnd,
} from "../loopback.ts";

const signal = AbortSignal.timeout(600_000);

describe("a client certificate", () => {
  const one = authority.issue({ commonName: "one", usage: "client" });
  const two = authority.issue({ commonName: "two", usage: "client" });

  test("that changes gets a connection of its own (C10)", async () => {
    const api = await stub(() => ({}), { clientCaPem: authority.certificatePem });
    let pair = one;
    const requester = requesterTo(api, {
      current: () =>
        Promise.resolve({
          certificate: { certificatePem: pair.certificatePem, keyPem: new Secret(pair.keyPem) },
        }),
      reject: () => undefined,
    });
    await requester.send(get, signal);
    await requester.send(get, signal);
    pair = two;
    await requester.send(get, signal);
    expect(api.requests.map(({ client }) => client)).toEqual(["one", "one", "two"]);
    expect(api.connections).toBe(2);
  });
});

test("a token that changes keeps the connection (C11)", async () => {
  const api = await stub();
  let token = "T1";
  const requester = requesterTo(api, {
    current: () => Promise.resolve({ authorization: new Secret(`Bearer ${token}`) }),
    reject: () => undefined,
  });
  await requester.send(get, signal);
  token = "T2";
  await requester.send(get, signal);
  expect(api.requests.map(({ authorization }) => authorization)).toEqual([
    "Bearer T1",
    "Bearer T2",
  ]);
  expect(api.connections).toBe(1);
});

test("what comes after a new connection was asked for goes over one, while a watch goes on over the old one", async () => {
  const api = await stub((times) => ({ open: times === 1 }));
  const requester = requesterTo(api);
  using watch = await requester.stream({ ...get, verb: "watch" }, 5_000, signal);
  const events = watch.body[Symbol.asyncIterator]();
  expect((await events.next()).done).toBe(false);
  await requester.send(get, signal);
  expect(api.connections).toBe(1);
  requester.reconnect();
  await requester.send(get, signal);
  await requester.send(get, signal);
  expect(api.connections).toBe(2);
  const next = events.next().then(
    () => "ended",
    () => "ended",
  );
  const quiet = new Promise((resolve) => setTimeout(resolve, 300, "goes on"));
  expect(await Promise.race([next, quiet])).toBe("goes on");
});

test("a watch goes on while the client certificate changes (C10)", async () => {
  const one = authority.issue({ commonName: "one", usage: "client" });
  const two = authority.issue({ commonName: "two", usage: "client" });
  let pair = one;
  const api = await stub((times) => ({ open: times === 1 }), {
    clientCaPem: authority.certificatePem,
  });
  const requester = requesterTo(api, {
    current: () =>
      Promise.resolve({
        certificate: { certificatePem: pair.certificatePem, keyPem: new Secret(pair.keyPem) },
      }),
    reject: () => undefined,
  });
  using watch = await requester.stream({ ...get, verb: "watch" }, 5_000, signal);
  const events = watch.body[Symbol.asyncIterator]();
  expect((await events.next()).done).toBe(false);
  pair = two;
  await requester.send(get, signal);
  expect(api.requests.map(({ client }) => client)).toEqual(["one", "two"]);
  const ended = events.next().then(
    () => "ended",
    () => "ended",
  );
  const still = AbortSignal.timeout(300);
  const quiet = new Promise((resolve) =>
    still.addEventListener("abort", () => resolve("goes on"), { once: true }),
  );
  expect(await Promise.race([ended, quiet])).toBe("goes on");
});

describe("a request is repeated", () => {
  test.each([
    {
      name: "a GET after 503",
      first: { status: 503, headers: { "retry-after": "0" } },
      request: get,
    },
    {
      name: "a POST after 429",
      first: { status: 429, headers: { "retry-after": "0" } },
      request: post,
    },
    { name: "a GET after a cut connection", first: { reset: true }, request: get },
  ])("$name", async ({ first, request }) => {
    const api = await stub((times) => (times === 1 ? first : {}));
    expect((await requesterTo(api).send(request, signal)).status).toBe(200);
    expect(api.requests).toHaveLength(2);
  });

  test.each([
    { name: "a POST after 503", first: { status: 503 }, request: post, outcome: 503 },
    { name: "a GET after 500", first: { status: 500 }, request: get, outcome: 500 },
  ])("but not $name", async ({ first, request, outcome }) => {
    const api = await stub(() => first);
    expect((await requesterTo(api).send(request, signal)).status).toBe(outcome);
    expect(api.requests).toHaveLength(1);
  });

  test("but not a POST after a cut connection", async () => {
    const api = await stub(() => ({ reset: true }));
    expect(await failureOf(requesterTo(api).send(post, signal))).toBe("reset");
    expect(api.requests).toHaveLength(1);
  });

  test("until the time is over, which is then what went wrong", async () => {
    const busy = await stub(() => ({ status: 503 }));
    const asked = requesterTo(busy).send(get, AbortSignal.timeout(300));
    await expect(asked).rejects.toMatchObject({ name: "TimeoutError" });
  });

  test("and given up soon when the server refuses connections", async () => {
    const api = await startApiStub({ identity: serverIdentity, answer: () => ({}) });
    await api[Symbol.asyncDispose]();
    expect(await failureOf(requesterTo(api).send(get, signal))).toBe("refused");
  });
});

describe("401", () => {
  test("gets a new credential and one repetition, also for a POST (C05)", async () => {
    const api = await stub((times) => (times === 1 ? { status: 401 } : {}));
    expect((await requesterTo(api, renewing().source).send(post, signal)).status).toBe(200);
    expect(api.requests.map(({ authorization }) => authorization)).toEqual([
      "Bearer T1",
      "Bearer T2",
    ]);
  });

  test("again is reported, not repeated (C06)", async () => {
    const api = await stub(() => ({ status: 401 }));
    const { source, runs } = renewing();
    const requester = requesterTo(api, source);
    const said = { code: "CredentialRejected", message: expect.stringContaining(api.server) };
    // Twice the same words, or the condition of a component would flap.
    const first = await requester.send(get, signal).catch((error: unknown) => error);
    const second = await requester.send(get, signal).catch((error: unknown) => error);
    expect(first).toMatchObject(said);
    expect(String(second)).toBe(String(first));
    expect(api.requests).toHaveLength(2);
    expect(runs()).toBe(2);
  });

  test("of a hundred requests in a row gets no storm of new credentials", async () => {
    const api = await stub(() => ({ status: 401 }));
    const { source, runs } = renewing();
    const requester = requesterTo(api, source);
    for (let round = 0; round < 100; round += 1) {
      await expect(requester.send(get, signal)).rejects.toMatchObject({
        code: "CredentialRejected",
      });
    }
    expect(runs()).toBe(2);
    expect(api.requests).toHaveLength(2);
  });

  test("of twenty requests at once gets one new credential (C07)", async () => {
    const { source, runs } = renewing();
    const api = await startApiStub({
      identity: serverIdentity,
      answer: ({ authorization }) => ({ status: authorization === "Bearer T1" ? 401 : 200 }),
    });
    untilTheEnd(api);
    const requester = requesterTo(api, source);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => requester.send(get, signal)),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(runs()).toBe(2);
  });
});

describe("401 that is no Status", () => {
  const unauthorized = { status: 401, headers: { "content-type": "text/plain" }, body: "no" };

  test("again after a fresh credential is an outage, and costs no more credentials", async () => {
    const api = await stub(() => unauthorized);
    const { source, runs } = renewing();
    const requester = requesterTo(api, source);
    for (let round = 0; round < 5; round += 1) {
      const error = await requester.send(get, signal).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ name: "ConnectionError", failure: "other" });
      expect(String(error)).toContain(`${api.server} answered 401`);
    }
    expect(runs()).toBe(2);
  });

  test("ends with the outage, and the credential is used again", async () => {
    let isAway = true;
    const api = await stub(() => (isAway ? unauthorized : {}));
    const { source, runs } = renewing();
    const requester = requesterTo(api, source);
    await expect(requester.send(get, signal)).rejects.toMatchObject({ failure: "other" });
    isAway = false;
    expect((await requester.send(get, signal)).status).toBe(200);
    expect(runs()).toBe(2);
  });

  test("is told of a watch as well", async () => {
    const api = await stub(() => unauthorized);
    const requester = requesterTo(api, renewing().source);
    await expect(requester.stream(get, 1_000, signal)).rejects.toMatchObject({ failure: "other" });
  });

  test.each([
    'managed cluster authentication failed: Post "https://10.0.0.1:443/apis": net/http: TLS handshake timeout',
    "authentication failed: managed cluster auth: not authenticated, hub cluster auth error: EOF",
  ])(
    "of cluster-proxy that asked nobody is an outage at once, and costs no credential: %s",
    async (body) => {
      const api = await stub(() => ({ ...unauthorized, body }));
      const { source, runs } = renewing();
      const requester = requesterTo(api, source);
      const outage = {
        name: "ConnectionError",
        failure: "other",
        message: `${api.server} answered 401, because it does not reach the API server: ${body}`,
      };
      await expect(requester.send(get, signal)).rejects.toMatchObject(outage);
      await expect(requester.stream(get, 1_000, signal)).rejects.toMatchObject(outage);
      expect(runs()).toBe(1);
      expect(api.requests).toHaveLength(2);
    },
  );

  test("of cluster-proxy, whose clusters do not know the credential, is their rejection", async () => {
    const body =
      "authentication failed: token is neither valid for managed cluster nor hub cluster";
    const api = await stub(() => ({ ...unauthorized, body }));
    const { source, runs } = renewing();
    const requester = requesterTo(api, source);
    await expect(requester.send(get, signal)).rejects.toMatchObject({ code: "CredentialRejected" });
    expect(runs()).toBe(2);
  });

  test("of a proxy that knows the fresh credential gets it", async () => {
    const api = await stub((times) => (times === 1 ? unauthorized : {}));
    expect((await requesterTo(api, renewing().source).send(get, signal)).status).toBe(200);
  });
});

test("403 changes nothing (C08)", async () => {
  const api = await stub(() => ({ status: 403 }));
  expect((await requesterTo(api).send(get, signal)).status).toBe(403);
  expect(api.requests).toHaveLength(1);
});

function renewing(): { readonly source: CredentialSource; readonly runs: () => number } {
  let runs = 0;
  const source = new RenewingCredentials({
    obtain: () => {
      runs += 1;
      return Promise.resolve({ authorization: new Secret(`Bearer T${runs}`) });
    },
    clock: systemClock,
    random: Math.random,
  });
  return { source, runs: () => runs };
}
