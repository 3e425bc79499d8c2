import { describe, expect, test } from "vitest";

import { Secret } from "../../../../../access/plugins/credential.ts";
import {
  execCredentialText,
  checkServer,
  execRequestOf,
} from "../../../../../cmd/kubectl/commands/credential/credential.ts";
import { runText } from "../../run-text.ts";

const v1 = "client.authentication.k8s.io/v1";

describe("KUBERNETES_EXEC_INFO", () => {
  test.each([
    { name: "absent", text: undefined, apiVersion: v1 },
    { name: "empty", text: "", apiVersion: v1 },
    {
      name: "of version v1beta1",
      text: '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","spec":{}}',
      apiVersion: "client.authentication.k8s.io/v1beta1",
    },
  ])("$name is answered in $apiVersion", ({ text, apiVersion }) => {
    expect(execRequestOf(text)).toEqual({ apiVersion });
  });

  test.each([
    "{",
    "[]",
    "null",
    `{"apiVersion":"${v1}"}`,
    '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1alpha1"}',
    `{"kind":"ExecCredential","apiVersion":"${v1}","spec":"secret"}`,
    `{"kind":"ExecCredential","apiVersion":"${v1}","spec":{"cluster":"secret"}}`,
  ])("%s is refused without being repeated", (text) => {
    expect(() => execRequestOf(text)).toThrow(/^(?!.*secret).*KUBERNETES_EXEC_INFO/);
  });
});

describe("the server that a client names", () => {
  const endpoint = { server: "https://eu-1:6443/path", caPem: "PEM" };

  test.each(["https://eu-1:6443/path", "https://eu-1:6443/path/", "https://EU-1:6443/path"])(
    "%s is the profile's",
    (server) => {
      expect(() => checkServer({ server }, endpoint, "fleet/eu-1")).not.toThrow();
    },
  );

  test.each([
    { server: "https://evil:6443/path" },
    { server: "http://eu-1:6443/path" },
    { server: "https://eu-1:6443" },
    { server: "https://eu-1:6443@evil/path" },
    { server: "" },
    {},
    { server: endpoint.server, "insecure-skip-tls-verify": true },
  ])("%o gets no credential", (cluster) => {
    expect(() => checkServer(cluster, endpoint, "fleet/eu-1")).toThrow("gets no credential");
  });
});

test("a certificate, a token of UTF-8 and their end are told as the protocol wants", () => {
  const header = Buffer.from("Bearer töken", "utf8").toString("latin1");
  const credential = {
    authorization: new Secret(header),
    certificate: { certificatePem: "CERT", keyPem: new Secret("KEY") },
    expiresAtMs: Date.parse("2026-11-21T12:00:00.900Z"),
  };
  expect(JSON.parse(execCredentialText(credential, { apiVersion: v1 }))).toEqual({
    kind: "ExecCredential",
    apiVersion: v1,
    status: {
      expirationTimestamp: "2026-11-21T12:00:00Z",
      token: "töken",
      clientCertificateData: "CERT",
      clientKeyData: "KEY",
    },
  });
});

describe("credential", () => {
  test("is refused on a terminal before anything is read", async () => {
    const ran = await runText(["credential", "fleet/eu-1", "--kubeconfig", "/nowhere"], {
      columns: 80,
    });
    expect(ran).toMatchObject({ exitCode: 2, stdout: "" });
    expect(ran.stderr).toContain("not printed on a terminal");
  });

  test.each([
    { args: ["credential"], says: "Name one ClusterProfile" },
    { args: ["credential", "a", "b"], says: "Name one ClusterProfile" },
    { args: ["connect"], says: "Name one ClusterProfile" },
    { args: ["connect", "a", "kubectl"], says: "A command stands after --" },
    { args: ["connect", "a", "--"], says: "There is no command after --" },
    { args: ["kubeconfig"], says: "or give --all" },
    { args: ["kubeconfig", "a", "--all"], says: "not both" },
    { args: ["kubeconfig", "a", "--dry-run"], says: "--dry-run" },
    { args: ["kubeconfig", "a", "-o", "wide"], says: "-o wide" },
  ])("$args is a mistake that is explained", async ({ args, says }) => {
    const ran = await runText(["--kubeconfig", "/nowhere", ...args]);
    expect(ran).toMatchObject({ exitCode: 2, stdout: "" });
    expect(ran.stderr).toContain(says);
  });
});
