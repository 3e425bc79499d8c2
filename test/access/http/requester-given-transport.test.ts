import { expect, test } from "vitest";

import { RequestCounters } from "../../../access/http/request-counters.ts";
import type { TransportRequest } from "../../../access/http/request.ts";
import { AuthorizedRequester } from "../../../access/http/requester.ts";
import { Secret } from "../../../access/plugins/credential.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("requests go over the transport that the requester was given, with their credential", async () => {
  const sent: TransportRequest[] = [];
  const clock = new FakeClock();
  await using requester = new AuthorizedRequester({
    clock,
    endpoint: { server: "https://hub.test", insecureSkipTlsVerify: false },
    userAgent: "test",
    counters: new RequestCounters(clock),
    credentials: {
      current: () => Promise.resolve({ authorization: new Secret("Bearer t-1") }),
      reject: () => undefined,
    },
    openTransport: ({ endpoint }) => ({
      send: (request) => {
        sent.push(request);
        const text = JSON.stringify({ server: endpoint.server });
        const contentType = "application/json";
        return Promise.resolve({ status: 200, contentType, retryAfter: undefined, text });
      },
      stream: () => Promise.reject(new Error("Nothing is watched")),
      drain: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
  });
  const request = { method: "GET", path: "/version", headers: {}, verb: "get" } as const;
  const { signal } = new AbortController();
  const answer = await requester.send({ ...request, timeoutMs: 1_000, idempotent: true }, signal);
  expect(JSON.parse(answer.text)).toEqual({ server: "https://hub.test" });
  expect(sent).toMatchObject([{ path: "/version", headers: { authorization: "Bearer t-1" } }]);
});
