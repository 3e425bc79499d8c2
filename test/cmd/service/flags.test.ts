import { describe, expect, test } from "vitest";

import { pollIntervalOf, readControllerFlags } from "../../../cmd/service/flags.ts";

const read = (...args: readonly string[]) => readControllerFlags(args, "1.2.3");

describe("readControllerFlags", () => {
  test("has a default for everything", () => {
    expect(read()).toEqual({
      delivery: "Push",
      pullNamespace: [],
      manifestSource: [],
      checkSource: [],
      referenceMode: "Any",
      trustedInventoryNamespace: [],
      trustedClusterManager: [],
      pluginRoot: [],
      remoteDeploymentsPollInterval: 10_000,
      auditInterval: 21_600_000,
      anchorProtection: "Auto",
      anchorProtectionCrds: false,
      spokeNamespace: "Canonical",
      sets: false,
      maxSetsPerNamespace: 100,
      installCrds: false,
      discover: [],
      discoverSourceNamespace: [],
      discoverKubeconfigLabel: "sigs.k8s.io/multicluster-runtime-kubeconfig",
      discoverKubeconfigKey: "kubeconfig",
      concurrency: 16,
      shards: 1,
      leaderElection: true,
      disableHa: false,
      leaderElectLeaseDuration: 15_000,
      leaderElectRenewDeadline: 10_000,
      leaderElectRetryPeriod: 2_000,
      healthAddress: { port: 8080 },
      logLevel: "info",
      logFormat: "json",
    });
  });

  test.each([
    [
      ["--reference-mode=Granted", "--reference-grants=g"],
      { referenceMode: "Granted", referenceGrants: "g" },
    ],
    [
      ["--trusted-inventory-namespace=a", "--trusted-inventory-namespace", "b"],
      { trustedInventoryNamespace: ["a", "b"] },
    ],
    [["--trusted-cluster-manager=ocm"], { trustedClusterManager: ["ocm"] }],
    [
      ["--discover=cluster-api, kubeconfig-secrets"],
      { discover: ["kubeconfig-secrets", "cluster-api"] },
    ],
    [["--discover="], { discover: [] }],
    [["--discover-source-namespace=a"], { discoverSourceNamespace: ["a"] }],
    [["--discover-selector="], { discoverSelector: "" }],
    [
      ["--discover-selector=env in (a, b),!old,tier!=x"],
      { discoverSelector: "env in (a, b),!old,tier!=x" },
    ],
    [["--shards=100"], { shards: 100 }],
    [["--install-crds"], { installCrds: true }],
    [["--disable-ha"], { disableHa: true }],
    [["--disable-ha=true"], { disableHa: true }],
    [["--disable-ha=false"], { disableHa: false }],
    [["--leader-election=false"], { leaderElection: false }],
    [["--leader-election"], { leaderElection: true }],
    [["--leader-elect-lease-duration=1m"], { leaderElectLeaseDuration: 60_000 }],
    [["--leader-elect-renew-deadline=40s"], { leaderElectRenewDeadline: 40_000 }],
    [["--leader-elect-retry-period=500ms"], { leaderElectRetryPeriod: 500 }],
    [["--remote-deployments-poll-interval=1m30s"], { remoteDeploymentsPollInterval: 90_000 }],
    [["--remote-deployments-poll-interval=-5s"], { remoteDeploymentsPollInterval: -5_000 }],
    [["--audit-interval=0"], { auditInterval: 0 }],
    [["--health-address", "0"], { healthAddress: "nowhere" }],
    [["--health-address=127.0.0.1:0"], { healthAddress: { host: "127.0.0.1", port: 0 } }],
    [["--health-address=[::1]:8081"], { healthAddress: { host: "::1", port: 8081 } }],
    [["--health-address=:9090"], { healthAddress: { port: 9090 } }],
    [["--kubeconfig", "a", "--release-dir=b"], { kubeconfig: "a", releaseDir: "b" }],
    [["--clusterprofile-provider-file=p"], { clusterprofileProviderFile: "p" }],
    [
      ["--manifest-source=https://a.example", "--manifest-source", "https://b.example:8443/k/"],
      {
        manifestSource: [
          { origin: "https://a.example", path: "/" },
          { origin: "https://b.example:8443", path: "/k/" },
        ],
      },
    ],
    [["--plugin-root=/p", "--plugin-root", "/q"], { pluginRoot: ["/p", "/q"] }],
    [["--plugin-home-dir=/h"], { pluginHomeDir: "/h" }],
    [["--log-level=debug", "--log-format=text"], { logLevel: "debug", logFormat: "text" }],
  ])("reads %j", (args, flags) => expect(read(...args)).toMatchObject(flags));

  test.each([
    [["--bogus"], "--bogus"],
    [["extra"], "argument"],
    [["--remote-deployments-poll-interval=10"], "--remote-deployments-poll-interval"],
    [["--concurrency=0"], "--concurrency"],
    [["--shards=0"], "--shards"],
    [["--discover=secrets"], "--discover"],
    [["--discover-selector=env in prod"], "--discover-selector"],
    [["--discover-selector=env=prod web"], "--discover-selector"],
    [["--discover-kubeconfig-label=a b"], "--discover-kubeconfig-label"],
    [["--shards=101"], "--shards"],
    [["--concurrency=many"], "--concurrency"],
    [["--disable-ha=perhaps"], "--disable-ha"],
    [["--health-address=8080"], "--health-address"],
    [["--health-address=:80800"], "--health-address"],
    [["--log-level=loud"], "--log-level"],
    [["--kubeconfig"], "--kubeconfig"],
    [["--manifest-source=http://a.example/"], "--manifest-source"],
    [["--manifest-source=/srv/manifests"], "--manifest-source"],
    [["--plugin-home-dir=homes"], "--plugin-home-dir"],
  ])("refuses %j with one line that names it", (args, name) => {
    const refusal = read(...args);
    expect(refusal).toMatchObject({ exitCode: 1, text: expect.stringContaining(name) });
    expect(refusal).toMatchObject({ text: expect.stringMatching(/^Error: [^\n]+\n$/) });
  });

  test.each(["", "plugins", "./plugins"])(
    "refuses the plugin root %j at the start (X30, on purpose: T-40)",
    (folder) => {
      expect(read(`--plugin-root=${folder}`)).toMatchObject({
        exitCode: 1,
        text: expect.stringContaining("Want an absolute path"),
      });
    },
  );

  test("prints the version and the help instead of working", () => {
    expect(read("--version")).toEqual({ text: "1.2.3\n", exitCode: 0 });
    expect(read("--help")).toMatchObject({
      text: expect.stringContaining("--clusterprofile-provider-file <file>"),
      exitCode: 0,
    });
  });
});

test.each([
  [10_000, 10_000],
  [1_000, 1_000],
  [999, 10_000],
  [0, 10_000],
  [-5_000, 10_000],
  [3_600_000, 3_600_000],
])("a poll interval of %d ms becomes %d ms, as upstream has it", (wanted, used) => {
  expect(pollIntervalOf(wanted)).toBe(used);
});
