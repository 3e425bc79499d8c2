import { once } from "node:events";
import { Agent, get } from "node:https";
import { connect } from "node:tls";

import { describe, expect, test } from "vitest";

import type { Ruling } from "../../webhook/reviews/review.ts";
import { reviewOf, serve } from "./serving.ts";

const nothing: Ruling = { violations: [], warnings: [] };
const allow = () => Promise.resolve(nothing);

describe("an answer", () => {
  test("allows with the uid of the request, and passes warnings on", async () => {
    await using serving = await serve(() =>
      Promise.resolve({ violations: [], warnings: ["spec.version: 1.22 is old"] }),
    );
    const { status, json } = await serving.post("/validate", JSON.stringify(reviewOf()));
    expect(status).toBe(200);
    expect(json).toEqual({
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      response: { uid: "4f3c", allowed: true, warnings: ["spec.version: 1.22 is old"] },
    });
  });

  test("refuses with every problem on a line of its own, the field first, and logs no object", async () => {
    await using serving = await serve(() =>
      Promise.resolve({
        violations: [
          { rule: "version", path: "spec.version", message: 'no release "9\n.9"', code: 422 },
          { rule: "use", path: "spec.clusterProfileRef", message: "may not use it", code: 403 },
        ],
        warnings: [],
      }),
    );
    const body = reviewOf({ object: { kind: "KnativeServing", secret: "canary-1" } });
    const { json } = await serving.post("/validate", JSON.stringify(body));
    expect(json).toMatchObject({
      response: {
        allowed: false,
        status: {
          code: 403,
          reason: "Forbidden",
          message: 'spec.version: no release "9 .9"\nspec.clusterProfileRef: may not use it',
          details: { causes: [{ reason: "FieldValueInvalid", field: "spec.version" }, {}] },
        },
      },
    });
    expect(serving.lines).toMatchObject([
      { message: "Refused", fields: { uid: "4f3c", user: "alice", rules: ["version", "use"] } },
    ]);
    expect(JSON.stringify(serving.lines)).not.toContain("canary-1");
    expect(await serving.metrics.render()).toContain(
      'knfleet_webhook_refused_total{rule="use",code="403"} 1',
    );
  });

  test("T-03 that cannot be decided is a refusal with code 500, never an allowance", async () => {
    await using serving = await serve(() => Promise.reject(new Error("token=canary-2")));
    const { status, json } = await serving.post("/validate", JSON.stringify(reviewOf()));
    expect(status).toBe(200);
    expect(json).toMatchObject({ response: { allowed: false, status: { code: 500 } } });
    expect(JSON.stringify(json)).not.toContain("canary-2");
  });

  test("T-74 comes before the deadline that the API server sent, also when a rule hangs", async () => {
    await using serving = await serve(() => new Promise(() => undefined));
    const { json } = await serving.post("/validate?timeout=1s", JSON.stringify(reviewOf()));
    expect(json).toMatchObject({
      response: { allowed: false, status: { code: 500, message: expect.stringContaining("time") } },
    });
  });
});

test("a review learns early that only advice has no time left", async () => {
  await using serving = await serve(async (_request, signal, early) => {
    await once(early ?? signal, "abort");
    return { violations: [], warnings: [`late: ${signal.aborted}`] };
  });
  const { json } = await serving.post("/validate?timeout=1s", JSON.stringify(reviewOf()));
  expect(json).toMatchObject({ response: { allowed: true, warnings: ["late: false"] } });
});

describe("T-71", () => {
  test.each([
    ["GET", "/validate", 405],
    ["PUT", "/validate", 405],
    ["GET", "/", 404],
    ["POST", "/validate/other", 404],
    ["GET", "/healthz", 200],
    ["GET", "/readyz", 200],
  ])("%s %s is answered with %i", async (method, path, status) => {
    await using serving = await serve(allow);
    expect((await serving.send(method, path)).status).toBe(status);
  });

  test.each([
    ["text/plain", "{}", 415],
    ["application/json", "", 400],
    ["application/json", "not JSON, token=canary-3", 400],
    ["application/json", "{}", 400],
    ["application/json", JSON.stringify({ ...reviewOf(), kind: "Other" }), 400],
    [
      "application/json",
      JSON.stringify({ ...reviewOf(), apiVersion: "admission.k8s.io/v1beta1" }),
      400,
    ],
    ["application/json", JSON.stringify({ ...reviewOf(), request: null }), 400],
    ["application/json", JSON.stringify(reviewOf({ uid: "" })), 400],
    ["application/json", JSON.stringify(reviewOf({ operation: "PATCH" })), 400],
    ["application/json", JSON.stringify(reviewOf({ userInfo: 1 })), 400],
    ["application/json", JSON.stringify(reviewOf({ kind: null })), 400],
    ["application/json; charset=utf-8", JSON.stringify(reviewOf()), 200],
  ])("%s %s is answered with %#", async (contentType, body, status) => {
    await using serving = await serve(allow);
    const answer = await serving.post("/validate", body, { "content-type": contentType });
    expect(answer.status).toBe(status);
    expect(answer.text).not.toMatch(/canary|at .*\.ts|node_modules/);
  });

  test("a compressed body is not read", async () => {
    await using serving = await serve(allow);
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    expect((await serving.post("/validate", "x", headers)).status).toBe(415);
  });

  test("HTTP/2 and TLS 1.2 are not spoken", async () => {
    await using serving = await serve(allow);
    const options = {
      port: serving.server.port,
      host: "127.0.0.1",
      ca: serving.authority.certificatePem,
    };
    const protocol = await new Promise((resolve) => {
      const socket = connect({ ...options, ALPNProtocols: ["h2", "http/1.1"] }, () => {
        resolve(socket.alpnProtocol);
        socket.destroy();
      });
    });
    expect(protocol).toBe("http/1.1");
    const old = new Promise((_resolve, reject) => {
      connect({ ...options, maxVersion: "TLSv1.2" }).on("error", reject);
    });
    await expect(old).rejects.toThrow(/protocol version/);
  });
});

describe("T-70", () => {
  test("a body of more than 3 MiB is answered with 413, announced or not", async () => {
    await using serving = await serve(allow);
    const body = JSON.stringify(reviewOf({ object: { text: "x".repeat(3 * 1024 * 1024) } }));
    expect((await serving.post("/validate", body)).status).toBe(413);
  });

  test("headers of more than 16 KiB are answered with 431", async () => {
    await using serving = await serve(allow);
    const headers = { "content-type": "application/json", "x-long": "x".repeat(17 * 1024) };
    expect((await serving.post("/validate", "{}", headers)).status).toBe(431);
  });

  test("a body of nearly 3 MiB is reviewed", async () => {
    await using serving = await serve(allow);
    const body = JSON.stringify(reviewOf({ object: { text: "x".repeat(3_000_000) } }));
    expect((await serving.post("/validate", body)).json).toMatchObject({
      response: { allowed: true },
    });
  });
});

describe("T-62", () => {
  test.each([
    ["a million arrays", "[".repeat(1_000_000)],
    ["a million objects", '{"a":'.repeat(500_000)],
    ["half a million values", `[${"1,".repeat(500_000)}1]`],
  ])("%s are answered with 413 before anything is parsed", async (_name, body) => {
    await using serving = await serve(allow);
    expect((await serving.post("/validate", body)).status).toBe(413);
  });

  test("brackets inside texts do not count", async () => {
    await using serving = await serve(allow);
    const body = JSON.stringify(reviewOf({ object: { text: `${"[{".repeat(1_000)}\\"` } }));
    expect((await serving.post("/validate", body)).status).toBe(200);
  });
});

test("/readyz names what is missing", async () => {
  await using serving = await serve(allow, { waitingFor: () => ["the serving certificate"] });
  const { status, text } = await serving.send("GET", "/readyz");
  expect(status).toBe(503);
  expect(text).toBe("waiting for the serving certificate\n");
});

test("while it drains, an answer asks the client to open its next connection elsewhere", async () => {
  let draining = false;
  await using serving = await serve(allow, { draining: () => draining });
  const connection = async () => {
    const { port } = serving.server;
    const url = `https://127.0.0.1:${port}/readyz`;
    const agent = new Agent({ ca: serving.authority.certificatePem, keepAlive: true });
    const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
    get(url, { agent }, (response) => resolve(response.resume().headers.connection)).on(
      "error",
      reject,
    );
    return promise.finally(() => agent.destroy());
  };
  expect(await connection()).toBe("keep-alive");
  draining = true;
  expect(await connection()).toBe("close");
});
