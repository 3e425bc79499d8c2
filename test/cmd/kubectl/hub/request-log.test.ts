import { describe, expect, test } from "vitest";

import { redactedBody } from "../../../../cmd/kubectl/hub/request-log.ts";
import { recordedObjects } from "../recorded-hub.ts";
import { runText } from "../run-text.ts";
import { startStubHub } from "../stub-hub.ts";

const secret = "hunter2-hunter2";
const encoded = Buffer.from(secret).toString("base64");

describe("a body in the log", () => {
  test.each([
    ["a Secret", { kind: "Secret", data: { token: encoded }, stringData: { x: secret } }],
    ["a list of Secrets", { kind: "SecretList", items: [{ metadata: {}, data: { a: encoded } }] }],
    ["a token request", { status: { token: secret } }],
    [
      "a kubeconfig in a ConfigMap",
      { data: { kubeconfig: `users:\n- user:\n    token: ${secret}\n` } },
    ],
    ["a password in a ConfigMap", { data: { settings: `password=${secret}` } }],
    ["a variable of a container", { env: [{ name: "DB_PASSWORD", value: secret }] }],
    [
      "a copy of a Secret in an annotation",
      {
        metadata: {
          annotations: {
            "kubectl.kubernetes.io/last-applied-configuration": `{"data":{"a":"${encoded}"}}`,
          },
        },
      },
    ],
    [
      "a private key",
      { text: `-----BEGIN RSA PRIVATE KEY-----\n${secret}\n-----END RSA PRIVATE KEY-----` },
    ],
    ["a bearer token in a message", { message: `Bearer ${secret} was refused` }],
  ])("does not show %s", (_, body) => {
    const text = redactedBody(JSON.stringify(body));
    expect(text).not.toContain(secret);
    expect(text).not.toContain(encoded);
    expect(text).toContain("[redacted]");
  });

  test("shows what is no secret, in one line without control characters", () => {
    const body = { kind: "ConfigMap", metadata: { name: "a" }, data: { color: "red\u001b[2J" } };
    expect(redactedBody(JSON.stringify(body))).toBe(
      '{"kind":"ConfigMap","metadata":{"name":"a"},"data":{"color":"red\\u001b[2J"}}',
    );
  });

  test("that is no JSON is told by its length, and a long one is cut", () => {
    expect(redactedBody(`token=${secret}`)).toBe("(21 characters that are no JSON)");
    expect(redactedBody(JSON.stringify("x".repeat(20_000)))).toMatch(/^"x+… \(20002 characters\)$/);
  });
});

describe("-v", () => {
  test("from 6 on tells every request, and not from where it came", async () => {
    await using hub = await startStubHub(recordedObjects);
    const { stdout, stderr } = await runText(["status", "--no-live", "-v=6"], { env: hub.env });
    expect(stderr).toMatch(
      /^GET http:\/\/127\.0\.0\.1:\d+\/apis\/operator\.knative\.dev\/v1beta1\/\S+ 200 in \d+ ms$/m,
    );
    expect(stderr).not.toContain("request:");
    const quiet = await runText(["status", "--no-live", "-v", "5"], { env: hub.env });
    expect(quiet.stdout).toBe(stdout);
    expect(quiet.stderr).not.toContain("GET ");
  });

  test("from 9 on shows bodies, and the data on standard output stays as it is", async () => {
    await using hub = await startStubHub(recordedObjects);
    const args = ["status", "--no-live", "-o", "json"];
    const { stderr, stdout } = await runText([...args, "--v", "9"], { env: hub.env });
    expect(stderr).toMatch(/^ {2}answer: \{"kind":"List",/m);
    expect(stderr).not.toContain("none");
    expect(JSON.parse(stdout)).toMatchObject({ kind: "FleetStatus" });
  });

  test("tells a request that was not answered", async () => {
    const args = ["status", "-s", "http://127.0.0.1:9", "--request-timeout", "5s", "-v=6"];
    const { stderr } = await runText(args);
    expect(stderr).toMatch(/^GET http:\/\/127\.0\.0\.1:9\/\S+ failed: .+ in \d+ ms$/m);
  });
});
