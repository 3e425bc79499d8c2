import { onTestFinished } from "vitest";

import type { Endpoint } from "../../access/http/endpoint.ts";
import { RequestCounters } from "../../access/http/request-counters.ts";
import type { AuthorizedRequest } from "../../access/http/request.ts";
import { AuthorizedRequester, type RequesterOptions } from "../../access/http/requester.ts";
import { ConnectionError } from "../../access/kube/api-error.ts";
import { type Credential, type CredentialSource, Secret } from "../../access/plugins/credential.ts";
import { systemClock } from "../../access/time/system-clock.ts";
import { createAuthority } from "../fleet/certificates.ts";
import { type ApiStub, startApiStub, type StubAnswer, type StubOptions } from "./api-stub.ts";

export const authority = createAuthority("test");
export const serverIdentity = authority.issue({
  commonName: "api",
  usage: "server",
  hosts: ["127.0.0.1", "kube.internal"],
});

export const get: AuthorizedRequest = {
  method: "GET",
  path: "/version",
  verb: "get",
  headers: { accept: "application/json" },
  timeoutMs: 5_000,
  idempotent: true,
};
export const post: AuthorizedRequest = {
  ...get,
  method: "POST",
  verb: "create",
  body: "{}",
  idempotent: false,
};

/** Ends something with the running test. */
export function untilTheEnd<T extends AsyncDisposable>(thing: T): T {
  onTestFinished(async () => thing[Symbol.asyncDispose]());
  return thing;
}

/** A stub for the running test; `answer` gets the number of the request, from 1. */
export async function stub(
  answer: (times: number) => StubAnswer = () => ({}),
  options: Partial<StubOptions> = {},
): Promise<ApiStub> {
  let times = 0;
  const counted = (): StubAnswer => {
    times += 1;
    return answer(times);
  };
  return untilTheEnd(await startApiStub({ identity: serverIdentity, answer: counted, ...options }));
}

/** A requester for the running test, which trusts the test's authority and says `Bearer T1`. */
export function requesterTo(
  endpoint: Endpoint,
  credentials?: CredentialSource,
  more: Pick<RequesterOptions, "answers" | "guard" | "mayWrite" | "onTrouble" | "onConnect"> = {},
): AuthorizedRequester {
  return untilTheEnd(newRequester(endpoint, credentials, more));
}

/** One that its caller ends. */
export function requesterOf(server: string): AuthorizedRequester {
  return newRequester({ server });
}

function newRequester(
  endpoint: Endpoint,
  credentials?: CredentialSource,
  more: Pick<RequesterOptions, "guard"> = {},
): AuthorizedRequester {
  return new AuthorizedRequester({
    clock: systemClock,
    endpoint: { ...endpoint, caPem: endpoint.caPem ?? authority.certificatePem },
    ...more,
    userAgent: "test",
    counters: new RequestCounters(systemClock),
    credentials: credentials ?? fixed({ authorization: new Secret("Bearer T1") }),
  });
}

function fixed(credential: Credential): CredentialSource {
  return { current: () => Promise.resolve(credential), reject: () => undefined };
}

/** Kind of the ConnectionError that some work ends with. */
export async function failureOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ConnectionError) return error.failure;
  throw new Error("Expected a ConnectionError", { cause: error });
}
