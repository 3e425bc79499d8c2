import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { findRefusal } from "../../../../../cmd/kubectl/findings/hops/plugin-hops.ts";

let folder = "";
let plugin = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-permit-"));
  plugin = join(folder, "plugin");
  await writeFile(plugin, "#!/bin/sh\n");
  await chmod(plugin, 0o755);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Given {
  readonly name: string;
  readonly from: "machine" | "cluster";
  readonly exec?: boolean;
  readonly roots?: boolean;
  readonly kuberc?: string;
  readonly builtIn?: boolean;
  readonly code: string | undefined;
}

const denyAll = "kind: Preference\ncredentialPluginPolicy: DenyAll\n";
const listed = (path: string): string =>
  `kind: Preference\ncredentialPluginPolicy: Allowlist\ncredentialPluginAllowlist:\n  - command: ${path}\n`;

test.each<Given>([
  { name: "a command of this machine", from: "machine", code: undefined },
  { name: "a command that came from the cluster", from: "cluster", code: "KNF3013" },
  { name: "such a command with --exec and no list", from: "cluster", exec: true, code: "KNF3013" },
  {
    name: "such a command with a list and no --exec",
    from: "cluster",
    roots: true,
    code: "KNF3013",
  },
  { name: "such a command with both", from: "cluster", exec: true, roots: true, code: undefined },
  {
    name: "such a command with --exec that kuberc lists",
    from: "cluster",
    exec: true,
    kuberc: "own",
    code: undefined,
  },
  {
    name: "a command that kuberc does not list",
    from: "machine",
    kuberc: "/other",
    code: "KNF3008",
  },
  { name: "any command under DenyAll", from: "machine", kuberc: "deny", code: "KNF3008" },
  {
    name: "a reader inside of this program",
    from: "cluster",
    builtIn: true,
    kuberc: "deny",
    code: undefined,
  },
])(
  "$name: $code (T-85)",
  async ({ from, exec = false, roots = false, kuberc, builtIn = false, code }) => {
    const path = join(folder, "kuberc");
    await writeFile(
      path,
      kuberc === "deny" ? denyAll : listed(kuberc === "own" ? plugin : (kuberc ?? "")),
    );
    const context = {
      environment: { PATH: "/usr/bin", KUBERC: kuberc === undefined ? "off" : path },
      exec,
      pluginRoots: roots ? [folder] : [],
      command: "kubectl knfleet",
    };
    const plan = {
      provider: "p",
      apiVersion: "client.authentication.k8s.io/v1",
      command: builtIn ? "builtin:secretreader" : plugin,
      args: ["--for", "spoke"],
      env: [],
      installHint: "",
      timeoutMs: 1_000,
    } as const;
    const refusal = await findRefusal(plan, from, context);
    expect(refusal?.code).toBe(code);
  },
);

test("what is not run is shown with its arguments", async () => {
  const plan = {
    provider: "p",
    apiVersion: "client.authentication.k8s.io/v1",
    command: plugin,
    args: ["--for", "spoke"],
    env: [],
    installHint: "",
    timeoutMs: 1_000,
  } as const;
  const context = {
    environment: { KUBERC: "off" },
    exec: false,
    pluginRoots: [],
    command: "kubectl knfleet",
  };
  const refusal = await findRefusal(plan, "cluster", context);
  expect(refusal?.message).toContain(`${plugin} --for spoke`);
});
