import { describe, expect, test } from "vitest";

import { resolveAccess } from "../../../access/spokes/resolved-access.ts";
import { FleetError } from "../../../api/errors.ts";
import { entryOf, fileOf, profileOf, rawProvider } from "../builders.ts";

const exec = "client.authentication.k8s.io/exec";
const envs = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs";

interface Asked {
  readonly rules: Readonly<Record<string, unknown>>;
  readonly config?: unknown;
  readonly variables?: Readonly<Record<string, string>>;
  readonly cluster?: Readonly<Record<string, unknown>>;
}

/** Code and message of the refusal of profile fleet/spoke-1 of manager m; `allowed` when there is none. */
function answerTo({ rules, config, variables, cluster = {} }: Asked): string {
  const extensions = [
    ...(config === undefined ? [] : [{ name: exec, extension: config }]),
    ...(variables === undefined ? [] : [{ name: envs, extension: variables }]),
  ];
  const profile = profileOf({ accessProviders: [entryOf("sr", { extensions, ...cluster })] });
  const labeled = {
    ...profile,
    metadata: { ...profile.metadata, labels: { "example.test/cluster": "one" } },
  };
  try {
    resolveAccess(labeled, fileOf(rawProvider("sr", rules)), Date.now());
    return "allowed";
  } catch (error) {
    if (error instanceof FleetError) return error.message;
    throw error;
  }
}

describe("a profile may use a provider", () => {
  test.each<Asked>([
    { rules: { allowedNamespaces: ["fleet"] } },
    { rules: { allowedClusterManagers: ["m", "n"] } },
    { rules: { allowedServers: ["spoke-1.test"] } },
    { rules: { allowedServers: ["SPOKE-1.test:6443"] } },
    { rules: { allowedServers: ["other.test", "*.test"] } },
    ...["*-gate.apis.test", "*-GATE.apis.test:443"].map((pattern) => ({
      rules: { allowedServers: [pattern] },
      cluster: { server: "https://us-west4-gate.apis.test/v1/projects/1" },
    })),
    {
      rules: { allowedServers: ["*-gate.eks.example.cn"] },
      cluster: { server: "https://north-gate.eks.example.cn" },
    },
    { rules: { allowedServers: ["10.0.0.0/8"] }, cluster: { server: "https://10.1.2.3" } },
    { rules: { allowedServers: ["fd00::/8"] }, cluster: { server: "https://[fd00::1]:6443" } },
    { rules: { allowedProxies: [] } },
    ...["proxy.test", "*.test:3128", "PROXY.test:3128"].map((pattern) => ({
      rules: { allowedProxies: [pattern] },
      cluster: { "proxy-url": "http://user:word@Proxy.test:3128" },
    })),
    {
      rules: { allowedProxies: ["10.0.0.0/8"] },
      cluster: { "proxy-url": "socks5://10.0.0.1" },
    },
    { rules: { allowedProxies: ["p.test:443"] }, cluster: { "proxy-url": "https://p.test" } },
    { rules: { allowedConfigKeys: ["clusterName"] }, config: { clusterName: "spoke-1" } },
    { rules: { allowedConfigKeys: [] } },
    { rules: { requiredConfig: { clusterName: "name" } }, config: { clusterName: "spoke-1" } },
    { rules: { requiredConfig: { ns: "namespace" } }, config: { ns: "fleet" } },
    { rules: { requiredConfig: { c: "labels[example.test/cluster]" } }, config: { c: "one" } },
    {
      rules: { profileSourcedEnvVarsPolicy: "Replace", allowedEnvNames: ["REGION", "APP_*"] },
      variables: { REGION: "eu", APP_ID: "1" },
    },
    { rules: { allowedEnvNames: [] }, variables: { IGNORED: "anyway" } },
  ])("$rules $cluster $config", (asked) => {
    expect(answerTo(asked)).toBe("allowed");
  });
});

describe("a profile may not use a provider (T-15, T-16, T-20)", () => {
  test.each<Asked & { readonly says: string }>([
    { rules: { allowedNamespaces: ["a"] }, says: "[ProviderInvalid] * allowedNamespaces" },
    { rules: { allowedNamespaces: [] }, says: "[ProviderInvalid] * allowedNamespaces" },
    {
      rules: { allowedClusterManagers: ["x"] },
      says: "[ProviderInvalid] * allowedClusterManagers",
    },
    { rules: { allowedServers: ["test"] }, says: "[EndpointInvalid] * allowedServers" },
    { rules: { allowedServers: ["*.spoke-1.test"] }, says: "[EndpointInvalid] * allowedServers" },
    { rules: { allowedServers: ["spoke-1.test:443"] }, says: "[EndpointInvalid] * allowedServers" },
    {
      rules: { allowedServers: ["10.0.0.0/8"] },
      cluster: { server: "https://11.0.0.1" },
      says: "[EndpointInvalid] * allowedServers",
    },
    ...[
      "https://gate.apis.test",
      "https://-gate.apis.test",
      "https://evil.test/us-gate.apis.test",
      "https://a.us-gate.apis.test",
      "https://us-gate.apis.test.evil.test",
    ].map((server) => ({
      rules: { allowedServers: ["*-gate.apis.test"] },
      cluster: { server },
      says: "[EndpointInvalid] * allowedServers",
    })),
    {
      rules: { allowedServers: ["*-gate.apis.test"] },
      cluster: { server: "https://us.gate.apis.test" },
      says: `[EndpointInvalid] * "sr" does not hold the server us.gate.apis.test of the profile`,
    },
    { rules: { allowedServers: ["0.0.0.0/0"] }, says: "[EndpointInvalid] * allowedServers" },
    ...[[], ["proxy.test:80"], ["canary.proxy.test"], ["0.0.0.0/0"]].map((allowedProxies) => ({
      rules: { allowedProxies },
      cluster: { "proxy-url": "http://canary:canary@proxy.test:3128" },
      says: "[EndpointInvalid] * allowedProxies",
    })),
    {
      rules: { allowedConfigKeys: ["clusterName"] },
      config: { clusterName: "spoke-1", namespace: "canary" },
      says: "[ExtensionInvalid] * allowedConfigKeys",
    },
    {
      rules: { requiredConfig: { clusterName: "name" } },
      config: { clusterName: "canary" },
      says: "[ExtensionInvalid] * requiredConfig",
    },
    {
      rules: { requiredConfig: { clusterName: "name" } },
      says: "[ExtensionInvalid] * requiredConfig",
    },
    // Plugins in Go take the last key that is the same without case.
    ...["CLUSTERNAME", "clustername", "clu\u017fterName"].map((twin) => ({
      rules: { requiredConfig: { clusterName: "name" } },
      config: { clusterName: "spoke-1", [twin]: "canary" },
      says: "[ExtensionInvalid] * another case",
    })),
    {
      rules: { requiredConfig: { toString: "labels[example.test/none]" } },
      config: {},
      says: "[ExtensionInvalid] * requiredConfig",
    },
    {
      rules: { profileSourcedEnvVarsPolicy: "Replace", allowedEnvNames: ["APP_*"] },
      variables: { REGION: "canary" },
      says: "[ExtensionInvalid] * allowedEnvNames",
    },
  ])("$rules $cluster $config", ({ says, ...asked }) => {
    const [code = "", rule = ""] = says.split(" * ");
    const answer = answerTo(asked);
    expect(answer).toContain(code);
    expect(answer).toContain(rule);
    expect(answer).not.toContain("canary");
  });
});

test("a profile whose label contradicts its cluster manager may not use a provider for managers (T-20)", () => {
  const { metadata, ...profile } = profileOf({ accessProviders: [entryOf("sr")] });
  const file = fileOf(rawProvider("sr", { allowedClusterManagers: ["m"] }));
  const labelled = (labels: Readonly<Record<string, string>>) => () =>
    resolveAccess({ ...profile, metadata: { ...metadata, labels } }, file, Date.now()).provider;
  expect(labelled({ "x-k8s.io/cluster-manager": "m" })()).toBe("sr");
  expect(labelled({ "x-k8s.io/cluster-manager": "other" })).toThrow(
    /\[ProviderInvalid\].*contradicts/,
  );
});

test("a provider that refuses the profile is passed over for the next one", () => {
  const profile = profileOf({ accessProviders: [entryOf("sr"), entryOf("x")] });
  const file = fileOf(rawProvider("sr", { allowedNamespaces: ["other"] }), rawProvider("x"));
  const { provider, skipped } = resolveAccess(profile, file, Date.now());
  expect({ provider, skipped: skipped.length }).toEqual({ provider: "x", skipped: 1 });
});

describe("an insecure server", () => {
  const http = { server: "http://10.0.0.1:8080", "certificate-authority-data": "" };
  const unverified = { "insecure-skip-tls-verify": true, "certificate-authority-data": "" };
  test.each<Asked & { readonly is: string }>([
    { rules: {}, cluster: http, is: "EndpointInvalid" },
    { rules: { allowInsecure: true }, cluster: http, is: "allowed" },
    { rules: {}, cluster: unverified, is: "EndpointInvalid" },
    { rules: { allowInsecure: true }, cluster: unverified, is: "allowed" },
    {
      rules: { allowInsecure: true },
      cluster: { "insecure-skip-tls-verify": true },
      is: "EndpointInvalid",
    },
    { rules: { allowInsecure: true }, cluster: { server: "ftp://a" }, is: "EndpointInvalid" },
  ])("with $rules and $cluster is $is (R44, R48, R49)", ({ is, ...asked }) => {
    expect(answerTo(asked)).toContain(is);
  });
});

test.each([
  { timeout: undefined, is: 30_000 },
  { timeout: "45s", is: 45_000 },
  { timeout: "1m30s", is: 90_000 },
  { timeout: "1500ms", is: 1_500 },
])("a plugin with timeout $timeout has $is ms", ({ timeout, is }) => {
  const profile = profileOf({ accessProviders: [entryOf("sr")] });
  const file = fileOf(rawProvider("sr", timeout === undefined ? {} : { timeout }));
  expect(resolveAccess(profile, file, Date.now()).plan.timeoutMs).toBe(is);
});
