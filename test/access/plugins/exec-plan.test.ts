import { array, assert, integer, property } from "fast-check";
import { describe, expect, test } from "vitest";

import { endpointOf } from "../../../access/http/endpoint.ts";
import { parseJson } from "../../../access/json.ts";
import { execPlan, fingerprint, type ExecPlan } from "../../../access/plugins/exec-plan.ts";
import { selectProvider } from "../../../access/providers/select-provider.ts";
import { entryOf, fileOf, profileOf, rawProvider } from "../builders.ts";
import { refusalOf } from "./refusal-of.ts";

const exec = "client.authentication.k8s.io/exec";
const args = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args";
const envs = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs";

type Extension = readonly [name: string, extension: unknown];

function planOf(policies: Readonly<Record<string, string>>, ...extensions: Extension[]): ExecPlan {
  return planFrom(fileOf(rawProvider("sr", policies)), extensions);
}

function planFrom(file: ReturnType<typeof fileOf>, extensions: readonly Extension[]): ExecPlan {
  const named = extensions.map(([name, extension]) => ({ name, extension }));
  const profile = profileOf({ accessProviders: [entryOf("sr", { extensions: named })] });
  const { provider, entry } = selectProvider(profile, file);
  return execPlan(provider, { profile, cluster: entry.cluster ?? {} });
}

function pairs({ env }: ExecPlan): readonly string[] {
  return env.map(({ name, value }) => `${name}=${value}`);
}

describe("the plugin's cluster config", () => {
  test.each([
    {
      name: "is the profile's exec extension",
      extensions: [[exec, { clusterName: "spoke-1" }]],
      config: { clusterName: "spoke-1" },
    },
    { name: "is null without one", extensions: [], config: null },
    { name: "does not mind other extensions", extensions: [["foo", { a: 1 }]], config: null },
  ] satisfies { name: string; extensions: Extension[]; config: unknown }[])(
    "$name",
    ({ extensions, config }) => {
      expect(planOf({}, ...extensions).cluster?.["config"]).toEqual(config);
    },
  );

  test("keeps integers that JavaScript cannot hold", () => {
    const plan = planOf({}, [exec, parseJson('{"id":9007199254740993,"small":1}')]);
    expect(JSON.stringify(plan.cluster?.["config"])).toBe('{"id":9007199254740993,"small":1}');
  });
});

describe("additional arguments", () => {
  test.each([
    { name: "are ignored without a policy", policy: "", given: ["b"], is: ["a"] },
    { name: "are ignored, even garbage", policy: "Ignore", given: "garbage", is: ["a"] },
    { name: "are appended in order", policy: "Append", given: ["b", "c"], is: ["a", "b", "c"] },
    { name: "may be in an object", policy: "Append", given: { args: ["b"] }, is: ["a", "b"] },
    {
      name: "may be numbers and booleans",
      policy: "Append",
      given: [1, true],
      is: ["a", "1", "true"],
    },
  ])("$name", ({ policy, given, is }) => {
    expect(planOf({ profileSourcedCLIArgsPolicy: policy }, [args, given]).args).toEqual(is);
  });

  test.each([
    { name: "null items", given: [null] },
    { name: "nested lists", given: [["b"]] },
    { name: "an object", given: { args: ["b"], other: [] } },
    { name: "line breaks", given: ["a\nb"] },
    { name: "too many", given: Array.from({ length: 17 }, () => "x") },
    { name: "a long one", given: ["x".repeat(1_025)] },
  ])("with $name are refused", ({ given }) => {
    expect(refusalOf(() => planOf({ profileSourcedCLIArgsPolicy: "Append" }, [args, given]))).toBe(
      "AccessProviderFailed ExtensionInvalid",
    );
  });
});

describe("additional variables", () => {
  test.each([
    { policy: "Ignore", given: { A: "2", B: "3" }, is: ["A=1"] },
    { policy: "AppendIfNotExists", given: { A: "2", B: "3" }, is: ["A=1", "B=3"] },
    { policy: "Replace", given: { A: "2", B: 3 }, is: ["A=2", "B=3"] },
    { policy: "Replace", given: { Z: "1", Y: "1", X: "1" }, is: ["A=1", "X=1", "Y=1", "Z=1"] },
  ])("$given with policy $policy give $is", ({ policy, given, is }) => {
    expect(pairs(planOf({ profileSourcedEnvVarsPolicy: policy }, [envs, given]))).toEqual(is);
  });

  test.each([
    null,
    ["A=1"],
    { A: null },
    { A: { nested: true } },
    { "": "x" },
    { PATH: "/evil" },
    { KUBERNETES_EXEC_INFO: "x" },
    { LD_PRELOAD: "/evil.so" },
    { NODE_OPTIONS: "--require=/evil.js" },
    { https_proxy: "http://evil.test" },
    { NAMESPACE: "other" },
    { KUBECONFIG: "/evil" },
    { SSL_CERT_FILE: "/evil" },
    { REQUESTS_CA_BUNDLE: "/evil" },
    { SSLKEYLOGFILE: "/evil" },
    { OPENSSL_CONF: "/evil" },
    { HOSTALIASES: "/evil" },
    { GCONV_PATH: "/evil" },
    { _JAVA_OPTIONS: "-javaagent:/evil" },
    { BASH_ENV: "/evil" },
    { XDG_CONFIG_HOME: "/evil" },
    { AWS_ENDPOINT_URL_STS: "https://evil.test" },
    { AWS_CONTAINER_CREDENTIALS_FULL_URI: "https://evil.test" },
    { AWS_WEB_IDENTITY_TOKEN_FILE: "/var/run/secrets/other" },
    { AZURE_AUTHORITY_HOST: "https://evil.test" },
  ])("%j are refused (T-17)", (given) => {
    const policy = { profileSourcedEnvVarsPolicy: "Replace" };
    expect(refusalOf(() => planOf(policy, [envs, given]))).toBe(
      "AccessProviderFailed ExtensionInvalid",
    );
  });
});

test("an extension that occurs twice is refused", () => {
  expect(refusalOf(() => planOf({}, [exec, { a: 1 }], [exec, { a: 2 }]))).toBe(
    "AccessProviderFailed ExtensionInvalid",
  );
});

test("nothing of one profile reaches another, in any order (T-18)", () => {
  const policies = {
    profileSourcedCLIArgsPolicy: "Append",
    profileSourcedEnvVarsPolicy: "AppendIfNotExists",
  };
  const file = fileOf(rawProvider("sr", policies));
  assert(
    property(array(integer({ min: 0, max: 9 }), { maxLength: 100 }), (profiles) => {
      for (const id of profiles) {
        const extensions: Extension[] = [
          [args, [`arg-${id}`]],
          [envs, { B: `env-${id}` }],
          [exec, { clusterName: `cluster-${id}` }],
        ];
        const plan = planFrom(file, extensions);
        expect(plan.args).toEqual(["a", `arg-${id}`]);
        expect(pairs(plan)).toEqual(["A=1", `B=env-${id}`]);
        expect(plan.cluster?.["config"]).toEqual({ clusterName: `cluster-${id}` });
      }
    }),
    { numRuns: 20 },
  );
});

describe("the fingerprint", () => {
  const cluster = {
    server: "https://a.test",
    "certificate-authority-data": entryOf("x").cluster?.["certificate-authority-data"] ?? "",
  };
  const print = (change: object, extension: unknown = { a: 1, b: 2 }): string => {
    const changed = { ...cluster, ...change };
    const [provider] = fileOf(rawProvider("sr")).providers;
    if (provider === undefined) throw new Error("No provider");
    const extensions = [{ name: exec, extension }];
    const plan = execPlan(provider, { profile: profileOf(), cluster: { ...changed, extensions } });
    return fingerprint(endpointOf(changed, { nowMs: Date.now() }), plan);
  };
  const plain = print({});

  test("is the same for the same way, whatever the order of keys", () => {
    expect(print({}, { b: 2, a: 1 })).toBe(plain);
  });

  test.each([
    { what: "server", change: { server: "https://b.test" } },
    { what: "TLS name", change: { "tls-server-name": "kube.internal" } },
    { what: "proxy", change: { "proxy-url": "http://proxy.test" } },
    { what: "proxy password", change: { "proxy-url": "http://u:p@proxy.test" } },
  ])("changes with the $what", ({ change }) => {
    expect(print(change)).not.toBe(plain);
  });

  test("changes with the plugin's config", () => {
    expect(print({}, { a: 1, b: 3 })).not.toBe(plain);
  });
});
