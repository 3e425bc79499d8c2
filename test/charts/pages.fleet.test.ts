import { execFile } from "node:child_process";
import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { beforeAll, expect, test, vi } from "vitest";

import { type Block, blocksOf, fileNameOf } from "../demo/page.ts";
import { ensureBinaries } from "../fleet/binaries.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { chartFolder } from "./helm.ts";

vi.setConfig({ testTimeout: 600_000 });

const fleet = useFleet({ spokes: 0 });
const docs = resolve(import.meta.dirname, "../../docs");
const published = "oci://ghcr.io/knfleet/charts/knfleet";
const crdType = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
let hub: Cluster;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  hub = fleet().hub;
  const binary = await ensureBinaries(["helm", "kubectl"]);
  const programs = join(hub.folder, "programs");
  await mkdir(programs, { recursive: true });
  await symlink(binary("kubectl"), join(programs, "kubectl"));
  // The chart is taken from here instead of the registry.
  const helm = `#!/bin/sh
for word; do shift; [ "$word" = ${published} ] && word=${chartFolder}; set -- "$@" "$word"; done
exec ${binary("helm")} "$@"
`;
  await writeFile(join(programs, "helm"), helm);
  await chmod(join(programs, "helm"), 0o755);
  const PATH = `${programs}:${process.env["PATH"] ?? ""}`;
  env = { PATH, HOME: hub.folder, KUBECONFIG: hub.adminKubeconfigPath };
  // The fleet brings ours along; a hub has none.
  for (const name of await definitions()) await hub.admin.remove({ ...crdType, name });
  await waitFor("the definitions to be gone", isBare, { timeoutMs: 60_000 });
});

async function isBare(): Promise<boolean> {
  return (await definitions()).length === 0;
}

async function definitions(): Promise<readonly string[]> {
  const crds = await hub.admin.list(crdType);
  const names = crds.map(({ metadata }) => metadata.name);
  return names.filter((name) => name.endsWith(".operator.knative.dev"));
}

async function pageOf(name: string): Promise<readonly Block[]> {
  return blocksOf(await readFile(join(docs, name), "utf8"));
}

/** Runs the commands of a page as they stand there. */
async function follow({ text }: Block): Promise<void> {
  await promisify(execFile)("sh", ["-eu", "-c", text], { env, cwd: hub.folder });
}

async function commandsOf(name: string): Promise<readonly Block[]> {
  return (await pageOf(name)).filter(({ language }) => language === "sh");
}

test("the commands of docs/install.md, upgrade.md and uninstall.md do what they say", async () => {
  for (const block of await pageOf("install.md")) {
    const file = fileNameOf(block);
    if (file !== undefined) await writeFile(join(hub.folder, file), block.text);
    if (block.language === "sh") await follow(block);
  }
  expect(await definitions()).toHaveLength(2);
  const [upgrade, takeOver, ...furtherUpgrades] = await commandsOf("upgrade.md");
  const [uninstall, leave, clear, ...furtherEnds] = await commandsOf("uninstall.md");
  expect([...furtherUpgrades, ...furtherEnds]).toEqual([]);
  for (const block of [upgrade, uninstall, takeOver, leave]) {
    if (block === undefined) throw new Error("A command is missing");
    await follow(block);
    expect(await definitions()).toHaveLength(2);
  }
  if (clear === undefined) throw new Error("A command is missing");
  await follow(clear);
  expect(await definitions()).toEqual([]);
}, 600_000);
