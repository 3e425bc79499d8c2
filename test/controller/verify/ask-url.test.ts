import { expect, test } from "vitest";

import { allowedSourceOf } from "../../../access/urls/allowed-source.ts";
import { CheckSource } from "../../../access/urls/check-source.ts";
import type { VerifySpec } from "../../../api/fleet-set.ts";
import { ask, type Asker } from "../../../controller/verify/ask.ts";
import type { Reply } from "../../../sets/check-answer.ts";
import { checksOf } from "../../../sets/verify.ts";
import type { ApiStub, StubAnswer } from "../../access/api-stub.ts";
import { authority, stub } from "../../access/loopback.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { about } from "./about.ts";

type CheckSpec = NonNullable<VerifySpec["checks"]>[number];

const { signal } = new AbortController();
const caBundle = Buffer.from(authority.certificatePem).toString("base64");

function notAsked(): Promise<never> {
  return Promise.reject(new Error("the cluster is not asked"));
}

function encoded(data: Readonly<Record<string, string>>): object {
  return Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
  );
}

/** Asks a check of a server that answers so; the hub has a Secret with this data. */
async function asked(
  answer: StubAnswer,
  checkOf: (url: string) => Partial<CheckSpec>,
  secret?: Readonly<Record<string, string>>,
): Promise<{ readonly reply: Reply; readonly server: ApiStub }> {
  const server = await stub(() => answer, { http1: true });
  const sources = [allowedSourceOf(server.server)].filter((one) => one !== undefined);
  const hub = new MemoryHub();
  if (secret !== undefined) {
    hub.edit("Secret", "knfleet-check-gate", { data: encoded(secret) });
  }
  const asker: Asker = {
    clientOf: notAsked,
    urls: { hub, source: new CheckSource({ sources, userAgent: "knfleet-test" }) },
  };
  return { server, reply: await replyOf(checkOf(`${server.server}/gate`), asker) };
}

function replyOf(check: Partial<CheckSpec>, asker: Asker): Promise<Reply> {
  const spec: VerifySpec = { checks: [{ name: "gate", noData: "Fail", ...check }] };
  const [first] = checksOf(spec);
  if (first === undefined) throw new Error("There is one check");
  return ask(first, about("fleet/eu-1", spec), asker, signal);
}

const webhook = (url: string): Partial<CheckSpec> => ({ webhook: { url, caBundle } });
const withSecret = (url: string): Partial<CheckSpec> => ({
  webhook: { url, caBundle, secretName: "knfleet-check-gate" },
});
const allowed = { body: '{"allowed":true}' };

test("a webhook is told the set, the revision, the stage and the cluster", async () => {
  const { reply, server } = await asked(allowed, webhook);
  expect(reply).toEqual({ kind: "good", message: "" });
  const [request] = server.requests;
  expect(request).toMatchObject({ method: "POST", path: "/gate", authorization: undefined });
  expect(JSON.parse(request?.body ?? "")).toEqual({
    set: { kind: "KnativeServingSet", namespace: "fleet", name: "prod" },
    revision: "prod-1",
    stage: "canary",
    cluster: { namespace: "fleet", name: "eu-1" },
    updatedAt: "1970-01-01T00:00:00.000Z",
  });
});

test.each([
  [{ body: '{"allowed":false,"message":"smoke test \\u001b[31mred"}' }, "bad", "smoke test red"],
  [{ body: '{"allowed":false}' }, "bad", "the server does not allow it"],
  [{ body: '{"message":"still running"}' }, "unasked", "still running"],
  [{ body: '{"allowed":"true"}' }, "unasked", "the server has not decided yet"],
  [{ body: "[]" }, "unasked", "the server has not decided yet"],
  [{ body: "<html>" }, "unasked", "SERVER answered 200 without JSON"],
  [{ status: 503, body: '{"allowed":true}' }, "unasked", "SERVER answered 503"],
  [{ status: 302, headers: { location: "/" } }, "unasked", "SERVER answered 302"],
] as const)("a webhook that answers %j counts as %s", async (answer, kind, message) => {
  const { reply, server } = await asked(answer, webhook);
  expect(reply).toEqual({ kind, message: message.replace("SERVER", server.server) });
});

test.each([400, 422])("an error page of a webhook decides nothing: %i", async (status) => {
  const { reply, server } = await asked({ status, body: '{"allowed":true}' }, webhook);
  expect(reply).toEqual({ kind: "unasked", message: `${server.server} answered ${status}` });
});

test.each([
  [{ token: "s3cr3t-tok-1" }, "s3cr3t-tok-1"],
  [{ username: "hub", password: "pass" }, Buffer.from("hub:pass").toString("base64")],
])("a server that says again what it was told shows nobody the Secret", async (secret, told) => {
  const body = JSON.stringify({ allowed: false, message: `bad header: ${told}` });
  const { reply } = await asked({ body }, withSecret, secret);
  expect(reply).toEqual({ kind: "bad", message: "bad header: [redacted]" });
});

test("a message is cut", async () => {
  const body = JSON.stringify({ allowed: false, message: "x".repeat(10_000) });
  expect((await asked({ body }, webhook)).reply.message).toHaveLength(200);
});

test.each([
  [{ token: "T1\n" }, "Bearer T1"],
  [
    { username: "hub", password: "secret" },
    `Basic ${Buffer.from("hub:secret").toString("base64")}`,
  ],
])("the credential comes from a Secret: %j", async (secret, authorization) => {
  const { reply, server } = await asked(allowed, withSecret, secret);
  expect(reply.kind).toBe("good");
  expect(server.requests).toMatchObject([{ authorization }]);
});

test.each([
  [undefined, "There is no Secret knfleet-check-gate"],
  [{}, "Secret knfleet-check-gate has neither a token nor username and password"],
  [{ token: "a\r\nx-other: b" }, "Secret knfleet-check-gate has neither a token nor"],
])("nothing is asked without a credential that is named: %j", async (secret, message) => {
  const { reply, server } = await asked(allowed, withSecret, secret);
  expect(reply).toEqual({ kind: "unasked", message: expect.stringContaining(message) });
  expect(server.requests).toEqual([]);
});

test("a Prometheus behind a URL is asked about the cluster by its name", async () => {
  const data = { resultType: "scalar", result: [0, "3"] };
  const body = JSON.stringify({ status: "success", data });
  const query = 'errors{cluster="$(CLUSTER_NAME)",ns="$(CLUSTER_NAMESPACE)"} / 2';
  const { reply, server } = await asked({ body }, (url) => ({
    prometheus: { url, caBundle, query, max: 1 },
  }));
  expect(reply).toEqual({ kind: "bad", message: "the query gives 3, more than 1" });
  const { pathname, searchParams } = new URL(server.requests[0]?.path ?? "", "https://any");
  expect(pathname).toBe("/gate/api/v1/query");
  expect(searchParams.get("query")).toBe('errors{cluster="eu-1",ns="fleet"} / 2');
});

test("a Prometheus says what is wrong with a query", async () => {
  const body = '{"status":"error","error":"parse error: unexpected end"}';
  const { reply } = await asked({ status: 400, body }, (url) => ({
    prometheus: { url, caBundle, query: "sum(", max: 1 },
  }));
  expect(reply).toEqual({ kind: "unasked", message: "parse error: unexpected end" });
});

test("a server that nobody trusts is not asked, and no port of it is told", async () => {
  const { reply } = await asked(allowed, (url) => ({ webhook: { url } }));
  expect(reply).toMatchObject({ kind: "unasked", message: expect.stringContaining("certificate") });
});

test("only the controller asks URLs", async () => {
  expect(await replyOf(webhook("https://gate.example/"), { clientOf: notAsked })).toEqual({
    kind: "unasked",
    message: "only the controller asks URLs",
  });
});
