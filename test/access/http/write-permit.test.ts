import { expect, test } from "vitest";

import type { AuthorizedRequest } from "../../../access/http/request.ts";
import type { AuthorizedRequester } from "../../../access/http/requester.ts";
import { WriteRefusedError } from "../../../access/http/write-permit.ts";
import { startDelayProxy } from "../../fleet/delay-proxy.ts";
import type { ApiStub } from "../api-stub.ts";
import { get, post, requesterTo, stub, untilTheEnd } from "../loopback.ts";

const signal = AbortSignal.timeout(600_000);

interface Permitted {
  readonly requester: AuthorizedRequester;
  permit: boolean;
}

function permitted(server: Pick<ApiStub, "server">): Permitted {
  const state = { permit: true };
  const requester = requesterTo({ server: server.server }, undefined, {
    mayWrite: () => state.permit,
  });
  return Object.assign(state, { requester });
}

function writesOf(api: ApiStub): readonly string[] {
  return api.requests.filter(({ method }) => method !== "GET").map(({ method }) => method);
}

test.each([{}, { http1: true }])(
  "without it nothing is written, but read (C18, %o)",
  async (server) => {
    const api = await stub(undefined, server);
    const subject = permitted(api);
    subject.permit = false;
    for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const) {
      const write: AuthorizedRequest = { ...post, method };
      await expect(subject.requester.send(write, signal)).rejects.toThrow(WriteRefusedError);
    }
    expect(api.connections).toBe(0);
    expect((await subject.requester.send(get, signal)).status).toBe(200);
    subject.permit = true;
    expect((await subject.requester.send(post, signal)).status).toBe(200);
    expect(writesOf(api)).toEqual(["POST"]);
  },
);

test.each([{}, { http1: true }])(
  "it is looked at again after the connection was waited for (C18, %o)",
  async (server) => {
    const api = await stub(undefined, server);
    const proxy = untilTheEnd(await startDelayProxy(api.port, { rttMs: 100 }));
    const subject = permitted({ server: proxy.url });
    const writing = subject.requester.send(post, signal);
    const reading = subject.requester.send(get, signal);
    await expect.poll(() => proxy.counts.connections).toBeGreaterThan(0);
    subject.permit = false;
    await expect(writing).rejects.toThrow(WriteRefusedError);
    expect((await reading).status).toBe(200);
    expect(writesOf(api)).toEqual([]);
  },
);

test("it is looked at again after a place was waited for (C18)", async () => {
  const api = await stub(() => ({ hang: true }));
  const subject = permitted(api);
  const end = new AbortController();
  const running = Array.from({ length: 56 }, () => subject.requester.send(get, end.signal));
  await expect.poll(() => api.requests.length).toBe(56);
  const waiting = subject.requester.send(post, signal);
  subject.permit = false;
  end.abort();
  await Promise.allSettled(running);
  await expect(waiting).rejects.toThrow(WriteRefusedError);
  expect(writesOf(api)).toEqual([]);
});

test("it is looked at again before a repetition (C18)", async () => {
  const api = await stub(() => ({ status: 429, headers: { "retry-after": "1" } }));
  const subject = permitted(api);
  const writing = subject.requester.send(post, signal);
  await expect.poll(() => api.requests.length).toBe(1);
  subject.permit = false;
  await expect(writing).rejects.toThrow(WriteRefusedError);
  expect(writesOf(api)).toEqual(["POST"]);
});
