import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { describe, expect, test } from "vitest";

import { isRecord, recordAt } from "../../../../api/fields.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { binding, configMap, fileOf, type Provider } from "../hub-file.ts";
import { runText } from "../run-text.ts";
import { startStubHub, type Answer, type StubHub } from "../stub-hub.ts";
import { fleetOf, secret, startSpoke } from "../stub-spoke.ts";

const label = "knfleet.dev/access-providers";
const configMaps = "GET /api/v1/configmaps";

const reader: Provider = { name: "secretreader", command: "builtin:secretreader" };
const byToken = { clusterName: "eu-1" };

async function statusOf(hub: StubHub, ...more: readonly string[]) {
  const ran = await runText(["status", "-A", "-o", "json", ...more], { env: hub.env });
  const report: unknown = JSON.parse(ran.stdout);
  const items = isRecord(report) ? report["items"] : undefined;
  const live = recordAt(Array.isArray(items) ? items[0] : undefined, "live");
  return { ...ran, live };
}

function asked(hub: StubHub): number {
  return hub.requests.filter((request) => request === configMaps).length;
}

const answering =
  (status: number): Answer =>
  ({ path }) =>
    path === "/api/v1/configmaps"
      ? { status, body: { kind: "Status", apiVersion: "v1", code: status, message: "no" } }
      : undefined;

describe("the provider file of the hub", () => {
  test.each<[string, Provider["env"], [string, readonly string[]]]>([
    ["the controller's namespace", [], ["knfleet-system", []]],
    [
      "the one that the provider names",
      [{ name: "POD_NAMESPACE", value: "fleet-credentials" }],
      ["fleet-credentials", []],
    ],
    [
      "that of --plugin-namespace",
      [{ name: "POD_NAMESPACE", value: "fleet-credentials" }],
      ["mine", ["--plugin-namespace", "mine"]],
    ],
    [
      "no other for a kubeconfig or a home that it names",
      [
        { name: "KUBECONFIG", value: "/etc/passwd" },
        { name: "HOME", value: "/root" },
      ],
      ["knfleet-system", []],
    ],
  ])("is used when none was named, with Secrets of %s (D10)", async (_, env, [place, flags]) => {
    await using spoke = await startSpoke();
    await using hub = await startStubHub([
      ...fleetOf(spoke.url, "secretreader", byToken),
      binding,
      configMap({ data: { "config.json": fileOf({ ...reader, env: env ?? [] }) } }),
      secret(place, "eu-1", { token: "t-1" }),
    ]);
    const { live } = await statusOf(hub, ...flags);
    expect(spoke.tokens).toContain("Bearer t-1");
    expect(live).not.toMatchObject({ reason: "NoProviderFile" });
    expect(asked(hub)).toBe(1);
  });

  test("is told once on standard error, to who reads a table", async () => {
    await using spoke = await startSpoke();
    await using hub = await startStubHub([
      ...fleetOf(spoke.url, "secretreader", byToken),
      binding,
      configMap({ data: { "config.json": fileOf(reader) } }),
      secret("knfleet-system", "eu-1", { token: "t-1" }),
    ]);
    const line = "provider file: ConfigMap knfleet-system/knfleet-providers\n";
    const told = async (...args: readonly string[]) =>
      (await runText(args, { env: hub.env })).stderr.split(line).length - 1;
    expect(await told("status", "-A")).toBe(1);
    expect(await told("deployments", "-A", "-o", "wide")).toBe(1);
    expect(await told("tree", "-A")).toBe(1);
    expect(await told("status", "-A", "-q")).toBe(0);
    expect(await told("status", "-A", "-o", "json")).toBe(0);
    expect(await told("status", "-A", "-o", "name")).toBe(0);
    expect(await told("credential", "fleet/eu-1")).toBe(0);
  });

  test.each([
    ["with --no-live", ["--no-live"]],
    ["when another one was named", ["--clusterprofile-provider-file"]],
  ])("is not asked for %s", async (_, args) => {
    await using hub = await startStubHub([
      ...fleetOf("http://127.0.0.1:9", "secretreader", byToken),
      binding,
      configMap({ data: { "config.json": fileOf(reader) } }),
    ]);
    const file = join(dirname(hub.kubeconfig), "providers.json");
    await writeFile(file, fileOf(reader));
    await statusOf(hub, ...args, ...(args.includes("--no-live") ? [] : [file]));
    expect(asked(hub)).toBe(0);
  });

  test("is not asked for when no installation is on another cluster", async () => {
    await using hub = await startStubHub([
      binding,
      configMap({ data: { "config.json": fileOf(reader) } }),
    ]);
    await statusOf(hub);
    expect(asked(hub)).toBe(0);
  });

  test.each<[string, [readonly KubeObject[], Answer?], string]>([
    ["is not there", [[]], `the hub has no ConfigMap with the label ${label}`],
    [
      "has no label",
      [[configMap({ labels: {}, data: { "config.json": fileOf(reader) } })]],
      `the hub has no ConfigMap with the label ${label}`,
    ],
    [
      "is one of several",
      [[binding, configMap({}), configMap({ name: "mine" })]],
      `2 ConfigMaps of the hub have the label ${label}: knfleet-system/knfleet-providers, knfleet-system/mine`,
    ],
    [
      "is in a namespace of somebody who may not install anything (T-16)",
      [[binding, configMap({ namespace: "team-x", data: { "config.json": fileOf(reader) } })]],
      "no ClusterRoleBinding with the label app.kubernetes.io/part-of=knfleet is for the namespace of ConfigMap team-x/knfleet-providers",
    ],
    [
      "may not be read",
      [[], answering(403)],
      "the right to list ConfigMaps in all namespaces of the hub, or ClusterRoleBindings, is missing",
    ],
    [
      "cannot be had",
      [[], answering(400)],
      "the hub answered 400 when asked for its provider file",
    ],
    [
      "is no JSON",
      [[binding, configMap({ data: { "config.json": "{" } })]],
      "The provider file ConfigMap knfleet-system/knfleet-providers (config.json) is not usable",
    ],
    [
      "has another key than the controller reads",
      [[binding, configMap({ data: { "other.json": fileOf(reader) } })]],
      "ConfigMap knfleet-system/knfleet-providers has no config.json",
    ],
  ])("that %s leaves the clusters unread, and says why", async (_, [maps, answer], why) => {
    await using hub = await startStubHub(
      [...fleetOf("http://127.0.0.1:9", "secretreader", byToken), ...maps],
      answer,
    );
    const { live, exitCode } = await statusOf(hub);
    expect(live).toMatchObject({ state: "Unknown", reason: "NoProviderFile" });
    expect(exitCode).toBe(3);
    const { stderr, exitCode: code } = await runText(["status", "-A"], { env: hub.env });
    expect(stderr).toContain(why);
    expect(stderr).toContain("--clusterprofile-provider-file");
    expect(code).toBe(3);
    const connect = await runText(["connect", "fleet/eu-1"], { env: hub.env });
    expect(connect.stderr).toContain(why);
    expect(connect.exitCode).toBe(2);
  });

  test("never runs a command that it names, and says what to do (T-85)", async () => {
    await using spoke = await startSpoke();
    await using hub = await startStubHub([
      ...fleetOf(spoke.url, "evil", byToken),
      binding,
      configMap({ data: { "config.json": fileOf({ name: "evil", command: process.execPath }) } }),
    ]);
    const roots = ["--plugin-root", dirname(process.execPath)];
    const { live, exitCode } = await statusOf(hub, ...roots);
    expect(live).toMatchObject({ state: "Unknown", reason: "PluginNotRun" });
    expect(exitCode).toBe(3);
    const { stderr } = await runText(["status", "-A", ...roots], { env: hub.env });
    expect(stderr).toContain(
      `The command ${process.execPath} of the provider evil came from ConfigMap knfleet-system/knfleet-providers and was not run`,
    );
    expect(stderr).toContain("diagnose fleet/eu-1 --from controller");
    const credential = await runText(["credential", "fleet/eu-1", ...roots], { env: hub.env });
    expect(credential).toMatchObject({ stdout: "", exitCode: 2 });
    expect(credential.stderr).toContain("PluginNotAllowed");
    expect(spoke.tokens).toEqual([]);
  });

  test.each<[string, Omit<Provider, "name">, boolean]>([
    ["as its image has it", { command: "/credential-plugins/bin/secretreader-plugin" }, true],
    ["as it is installed by hand", { command: "/access-plugins/secretreader" }, true],
    ["of another name", { command: "/access-plugins/my-secretreader" }, false],
    ["that only lies beside it", { command: "/secretreader/evil" }, false],
    ["with arguments", { command: "/access-plugins/secretreader", args: ["-x"] }, false],
    [
      "with a kubeconfig of its own",
      {
        command: "/access-plugins/secretreader",
        env: [{ name: "KUBECONFIG", value: "/etc/other" }],
      },
      false,
    ],
  ])(
    "has the built-in reader stand for the official plugin %s (D11, T-85)",
    async (...[, provider, isRead]) => {
      await using spoke = await startSpoke();
      await using hub = await startStubHub([
        ...fleetOf(spoke.url, "tokens", byToken),
        binding,
        configMap({ data: { "config.json": fileOf({ name: "tokens", ...provider }) } }),
        secret("knfleet-system", "eu-1", { token: "t-3" }),
      ]);
      const { live } = await statusOf(hub);
      expect(spoke.tokens.includes("Bearer t-3")).toBe(isRead);
      expect(live["reason"] === "PluginNotRun").toBe(!isRead);
      const { stderr } = await runText(["status", "-A"], { env: hub.env });
      const note = `built-in readers stand for ${provider.command}\n`;
      expect(stderr.includes(note)).toBe(isRead);
    },
  );

  const granted = { "knfleet.dev/credentials-namespace": "fleet-credentials" };
  test.each([
    { key: "namespace", namespace: "kube-system", annotations: {}, isFollowed: false },
    { key: "NAMESPACE", namespace: "kube-system", annotations: {}, isFollowed: false },
    { key: "namespace", namespace: "knfleet-system", annotations: {}, isFollowed: true },
    { key: "namespace", namespace: "fleet-credentials", annotations: {}, isFollowed: false },
    { key: "namespace", namespace: "fleet-credentials", annotations: granted, isFollowed: true },
  ])(
    "with a Secret that a ClusterProfile names by $key: $namespace, with annotations $annotations, is followed: $isFollowed (T-16)",
    async ({ key, namespace, annotations, isFollowed }) => {
      await using spoke = await startSpoke();
      const config = { [key]: namespace, name: "eu-1", key: "kubeconfig" };
      const kubeconfig = JSON.stringify({
        "current-context": "x",
        contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
        clusters: [{ name: "x", cluster: {} }],
        users: [{ name: "x", user: { token: "t-2" } }],
      });
      const provider = { name: "files", command: "builtin:kubeconfig-secretreader" };
      await using hub = await startStubHub([
        ...fleetOf(spoke.url, "files", config),
        binding,
        configMap({ annotations, data: { "config.json": fileOf(provider) } }),
        secret(namespace, "eu-1", { kubeconfig }),
      ]);
      const { live } = await statusOf(hub);
      expect(spoke.tokens.includes("Bearer t-2")).toBe(isFollowed);
      expect(live["reason"] === "PluginNotRun").toBe(!isFollowed);
      const isRead = hub.requests.some((request) => request.includes("/secrets/"));
      expect(isRead).toBe(isFollowed);
    },
  );
});
