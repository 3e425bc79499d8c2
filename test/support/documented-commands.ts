import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";

import { ensureBinaries } from "../fleet/binaries.ts";
import type { Cluster } from "../fleet/fleet.ts";

const project = resolve(import.meta.dirname, "../..");

/** The shell commands of a part of a page, block after block; the part begins with a heading and ends with the next one of its level. */
export async function documentedCommands(
  page: string,
  heading: string,
): Promise<readonly string[]> {
  const text = await readFile(resolve(project, page), "utf8");
  const start = text.indexOf(`\n${heading}\n`);
  if (start < 0) throw new Error(`${page} has no heading ${heading}`);
  const level = heading.slice(0, heading.indexOf(" ") + 1);
  const [part = ""] = text.slice(start + heading.length + 2).split(`\n${level}`);
  return Array.from(part.matchAll(/```sh\n([^]*?)```/g), ([, block = ""]) => block);
}

/** Runs shell commands as the admin of a cluster, with the official kubectl; the first that fails ends them, and rejects. */
export async function runAsAdmin(
  { adminKubeconfigPath, folder }: Cluster,
  script: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<void> {
  const kubectl = (await ensureBinaries(["kubectl"], {}))("kubectl");
  const env = {
    PATH: `${dirname(kubectl)}:/usr/bin:/bin`,
    KUBECONFIG: adminKubeconfigPath,
    HOME: folder,
    ...variables,
  };
  await promisify(execFile)("sh", ["-euc", script], { env });
}
