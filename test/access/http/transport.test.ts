import { once } from "node:events";
import { createServer } from "node:net";

import { describe, expect, test, vi } from "vitest";

import { AnswerBudget } from "../../../access/answer-limits.ts";
import { connectorOf, type ConnectTimes } from "../../../access/http/connector.ts";
import { endpointOf } from "../../../access/http/endpoint.ts";
import { apiErrorOf, bodyOf } from "../../../access/kube/api-answer.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { createAuthority, createSelfSigned } from "../../fleet/certificates.ts";
import { portOf } from "../../fleet/ports.ts";
import { authority, failureOf, get, requesterTo, serverIdentity, stub } from "../loopback.ts";

const lonely = createSelfSigned({ commonName: "alone", usage: "server", hosts: ["127.0.0.1"] });
const signal = AbortSignal.timeout(600_000);

describe("a connection", () => {
  test("is one for a hundred requests, each with the credential", async () => {
    const api = await stub();
    const requester = requesterTo(api);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => requester.send(get, signal)),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(api.connections).toBe(1);
    expect(new Set(api.requests.map(({ authorization }) => authorization))).toEqual(
      new Set(["Bearer T1"]),
    );
  });

  test("is one for forty watches and the requests beside them, two for more watches", async () => {
    const api = await stub((times) => ({ open: times <= 41 }));
    const requester = requesterTo(api);
    const watch = { ...get, verb: "watch" };
    const watches = await Promise.all(
      Array.from({ length: 40 }, () => requester.stream(watch, 5_000, signal)),
    );
    expect(api.connections).toBe(1);
    watches.push(await requester.stream(watch, 5_000, signal));
    expect(api.connections).toBe(2);
    await Promise.all(Array.from({ length: 100 }, () => requester.send(get, signal)));
    expect(api.connections).toBe(2);
    for (const stream of watches) stream[Symbol.dispose]();
  });

  test("lets a spoke send 32 KiB of each answer ahead, and the hub, which is trusted, 256", async () => {
    const api = await stub();
    await requesterTo(api, undefined, { answers: new AnswerBudget().cluster() }).send(get, signal);
    await requesterTo(api).send(get, signal);
    expect(api.windows).toEqual([32 * 1024, 256 * 1024]);
  });

  test("is a new one for requests that ask for their own, which they share, and ends with the last of them", async () => {
    const api = await stub();
    const troubles: Error[] = [];
    const onTrouble = (error: Error) => troubles.push(error);
    const requester = requesterTo(api, undefined, { onTrouble });
    await requester.send(get, signal);
    const own = { ...get, ownConnection: {} };
    await Promise.all([requester.send(own, signal), requester.send(own, signal)]);
    expect(api.connections).toBe(2);
    await requester.send(own, signal);
    expect(api.connections).toBe(3);
    await requester.send(get, signal);
    expect(api.connections).toBe(3);
    // Its end is no reason to look whether the server is still there.
    expect(troubles).toEqual([]);
  });

  test("goes below the server's path prefix (R45)", async () => {
    const api = await stub();
    await requesterTo({ server: `${api.server}/v1/projects/1` }).send(get, signal);
    expect(api.requests[0]?.path).toBe("/v1/projects/1/version");
  });

  test("that the server gave up is made anew without haste while its watches go on", async () => {
    const api = await stub((times) => ({ open: times === 1 }));
    const failed: ConnectTimes[] = [];
    const onConnect = (times: ConnectTimes) => {
      if (times.code !== undefined) failed.push(times);
    };
    const requester = requesterTo(api, undefined, { onConnect });
    using watch = await requester.stream({ ...get, verb: "watch" }, 60_000, signal);
    await watch.body.next();
    api.retire();
    const started = performance.now();
    const answering = requester.send({ ...get, timeoutMs: 60_000 }, signal);
    await vi.waitFor(() => expect(failed.length).toBeGreaterThanOrEqual(4), 30_000);
    expect(performance.now() - started).toBeGreaterThan(600);
    const successor = await stub(undefined, { port: api.port });
    expect((await answering).status).toBe(200);
    expect(successor.requests).toHaveLength(1);
  });

  test("brings long answers whole, also several at once, where each write is asked about", async () => {
    const bodies = [1, 2, 3, 4].map((n) => {
      const length = 400_000 * n;
      return JSON.stringify({ n, text: Array.from({ length }, (_, i) => i % 10).join("") });
    });
    const api = await stub((times) => ({ body: bodies[times - 1] ?? "" }));
    const requester = requesterTo(api, undefined, { mayWrite: () => true });
    const answers = await Promise.all(bodies.map(() => requester.send(get, signal)));
    const texts = answers.map(({ text }) => text).toSorted((a, b) => a.length - b.length);
    expect(texts.every((text, at) => text === bodies[at])).toBe(true);
    expect(api.connections).toBe(1);
  });

  test("is not begun when its owner has ended, which would be the end of the process", async () => {
    const api = await stub();
    const connect = connectorOf({
      clock: systemClock,
      endpoint: { server: api.server, caPem: authority.certificatePem },
      http2: true,
      connectTimeoutMs: 5_000,
      signal: AbortSignal.abort(new Error("Ended")),
      onBroken: () => undefined,
    });
    const { promise, resolve } = Promise.withResolvers<Error | null>();
    const place = { hostname: "127.0.0.1", protocol: "https:", port: String(api.port) };
    connect(place, (...[error]) => resolve(error));
    expect((await promise)?.message).toBe("Ended");
    await requesterTo(api).send(get, signal);
    expect(api.connections).toBe(1);
  });

  test("to a server that speaks only HTTP/1.1 does not queue requests behind a watch", async () => {
    const api = await stub((times) => ({ open: times === 1 }), { http1: true });
    const requester = requesterTo(api);
    using watch = await requester.stream({ ...get, verb: "watch" }, 5_000, signal);
    expect(watch.status).toBe(200);
    await Promise.all(Array.from({ length: 5 }, () => requester.send(get, signal)));
    expect(api.requests).toHaveLength(6);
  });

  test("to a server that speaks only HTTP/1.1 serves many first requests at once (T11)", async () => {
    const api = await stub(undefined, { http1: true });
    const requester = requesterTo(api);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => requester.send(get, signal)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(api.requests).toHaveLength(20);
  });

  test.each([
    { name: "the CA that signed it", ca: authority.certificatePem },
    { name: "its own certificate as CA (T01)", ca: serverIdentity.certificatePem },
    {
      name: "a bundle of both (T02)",
      ca: serverIdentity.certificatePem + authority.certificatePem,
    },
    {
      name: "its own self-signed certificate (T03)",
      ca: lonely.certificatePem,
      identity: lonely,
    },
  ])("is trusted by $name", async ({ ca, identity = serverIdentity }) => {
    const api = await stub(() => ({}), { identity });
    const requester = requesterTo({ server: api.server, caPem: ca });
    expect((await requester.send(get, signal)).status).toBe(200);
  });

  const another = createAuthority("another").certificatePem;
  const key = "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n";
  test.each([
    {
      name: "text before, between and after",
      pem: `a\n${another}-- b --\n${authority.certificatePem}c`,
    },
    { name: "no line break between", pem: `${another.trimEnd()}${authority.certificatePem}` },
    { name: "a block without an end", pem: `-----BEGIN FOO-----\nx\n${authority.certificatePem}` },
    { name: "text on the line", pem: `${another}x ${authority.certificatePem}` },
    { name: "a NUL", pem: `${another}\0${authority.certificatePem}` },
    { name: "a key", pem: `${key}${authority.certificatePem}` },
    { name: "a byte order mark", pem: `\ufeff${authority.certificatePem}` },
    { name: "line ends of Windows", pem: authority.certificatePem.replaceAll("\n", "\r\n") },
  ])("is trusted by a bundle with $name (T-14)", async ({ pem }) => {
    const api = await stub();
    const data = Buffer.from(pem).toString("base64");
    const cluster = { server: api.server, "certificate-authority-data": data };
    const requester = requesterTo(endpointOf(cluster, { nowMs: Date.now() }));
    expect((await requester.send(get, signal)).status).toBe(200);
  });

  test.each([
    { name: "an unrelated CA (T04)", endpoint: { caPem: createAuthority("other").certificatePem } },
    { name: "another name (T05)", endpoint: { tlsServerName: "other.internal" } },
  ])("is not trusted with $name, and no credential is sent", async ({ endpoint }) => {
    const api = await stub();
    expect(
      await failureOf(requesterTo({ server: api.server, ...endpoint }).send(get, signal)),
    ).toBe("untrusted");
    expect(api.requests).toEqual([]);
  });

  test("may be verified by another name than its host (R50, T05)", async () => {
    const api = await stub();
    const requester = requesterTo({ server: api.server, tlsServerName: "kube.internal" });
    expect((await requester.send(get, signal)).status).toBe(200);
  });
});

describe("an answer", () => {
  test("that redirects is refused, and nobody follows it (C14, T-12)", async () => {
    const other = await stub();
    const api = await stub(() => ({ status: 302, headers: { location: `${other.server}/x` } }));
    expect(await failureOf(requesterTo(api).send(get, signal))).toBe("other");
    expect(other.requests).toEqual([]);
  });

  test("of more than its kind may have is refused (T-50)", async () => {
    const api = await stub(() => ({ body: "x".repeat(9 * 1024 * 1024) }));
    expect(await failureOf(requesterTo(api).send(get, signal))).toBe("tooLarge");
  });

  test("that does not come in time is a timeout", async () => {
    const api = await stub(() => ({ hang: true }));
    const slow = { ...get, timeoutMs: 300, idempotent: false };
    expect(await failureOf(requesterTo(api).send(slow, signal))).toBe("timeout");
  });

  test("in plain text is an error that is not looked into", async () => {
    const api = await stub(() => ({
      status: 404,
      headers: { "content-type": "text/plain" },
      body: "404 page \u001b[31mnot found",
    }));
    const error = apiErrorOf(await requesterTo(api).send(get, signal), "GET /x");
    expect(error).toMatchObject({ status: 404, isStatus: false, reason: "" });
    expect(error.message).toBe("404 page not found");
  });

  test("that is broken JSON does not get into the error", async () => {
    const api = await stub(() => ({ body: '{"token": canary' }));
    const answer = await requesterTo(api).send(get, signal);
    expect(() => bodyOf(answer, "GET /x")).toThrow("not JSON");
  });
});

test("a request ends with the reason of its signal", async () => {
  const api = await stub(() => ({ hang: true }));
  const stop = new AbortController();
  const work = requesterTo(api).send(get, stop.signal);
  stop.abort(new Error("Stopped"));
  await expect(work).rejects.toThrow("Stopped");
});

test("a connection that is being made to a silent server ends at once when it is closed", async () => {
  const silent = createServer();
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const requester = requesterTo({ server: `https://127.0.0.1:${portOf(silent.address())}` });
  const work = failureOf(requester.send({ ...get, idempotent: false }, signal));
  await once(silent, "connection");
  await requester[Symbol.asyncDispose]();
  expect(await work).not.toBe("timeout");
  silent.close();
});
