import { describe, expect, test } from "vitest";

import { readWebhookFlags } from "../../../cmd/service/webhook-flags.ts";

const read = (...args: readonly string[]) => readWebhookFlags(args, "1.2.3");
const hubId = "0d8b0b0e-6a9e-4f0e-9d4b-1f3f5b7c9a11";

describe("readWebhookFlags", () => {
  test("has a default for everything", () => {
    expect(read()).toEqual({
      address: { port: 9443 },
      healthAddress: { port: 8081 },
      tlsMinVersion: "1.3",
      drainPeriod: 10_000,
      certificates: "self-managed",
      certificateDir: "/etc/knfleet/certificates",
      serviceName: "knfleet-webhook",
      spokeNamespace: "Canonical",
      secretName: "knfleet-webhook-certificates",
      webhookConfiguration: ["knfleet-webhook"],
      certificateLifetime: 604_800_000,
      authorityLifetime: 7_776_000_000,
      companionOf: "knfleet",
      manifestSource: [],
      checkSource: [],
      clientName: [],
      referenceMode: "Any",
      trustedInventoryNamespace: [],
      trustedClusterManager: [],
      pluginRoot: [],
      manifestRight: false,
      guard: [],
      guardOnly: false,
      logLevel: "info",
      logFormat: "json",
    });
  });

  test.each([
    [["--address=[::]:443"], { address: { host: "::", port: 443 } }],
    [["--health-address=0"], { healthAddress: "nowhere" }],
    [["--tls-min-version=1.2"], { tlsMinVersion: "1.2" }],
    [["--drain-period=1m"], { drainPeriod: 60_000 }],
    [["--certificates=files", "--certificate-dir=/c"], { certificateDir: "/c" }],
    [["--webhook-configuration=a"], { webhookConfiguration: ["a"] }],
    [
      ["--webhook-configuration=a", "--webhook-configuration", "b.c"],
      { webhookConfiguration: ["a", "b.c"] },
    ],
    [
      [`--guard=${hubId}=system:serviceaccount:a:b`],
      { guard: [{ hubId, hubUsers: ["system:serviceaccount:a:b"] }] },
    ],
    [
      [`--guard=${hubId}=a`, `--guard=${hubId}=b`],
      {
        guard: [
          { hubId, hubUsers: ["a"] },
          { hubId, hubUsers: ["b"] },
        ],
      },
    ],
    [["--manifest-right"], { manifestRight: true }],
    [["--release-dir="], { releaseDir: "" }],
  ])("reads %j", (args, flags) => expect(read(...args)).toMatchObject(flags));

  test.each([
    "--bogus",
    "--address=0",
    "--address=9443",
    "--tls-min-version=1.1",
    "--certificates=none",
    "--certificate-lifetime=0",
    "--authority-lifetime=tomorrow",
    "--drain-period=10",
    "--guard=me",
    "--guard=hub=user",
    "--webhook-configuration=../a",
    "--companion-of=nobody",
    "--manifest-source=http://a.example/",
  ])("refuses %s with one line that names it", (arg) => {
    const name = arg.split("=", 1)[0] ?? "";
    expect(read(arg)).toMatchObject({ exitCode: 1, text: expect.stringContaining(name) });
    expect(read(arg)).toMatchObject({ text: expect.stringMatching(/^Error: [^\n]+\n$/) });
  });

  test("prints the version and the help instead of working", () => {
    expect(read("--version")).toEqual({ text: "1.2.3\n", exitCode: 0 });
    expect(read("--help")).toMatchObject({
      text: expect.stringContaining("--tls-min-version"),
      exitCode: 0,
    });
  });
});
