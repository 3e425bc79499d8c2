import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeAll, describe, expect, test } from "vitest";

import { parseProviderFile } from "../../access/providers/provider-config.ts";
import { loadProviderFile } from "../../access/providers/provider-file.ts";
import { connectSpoke } from "../../access/spokes/spoke-connection.ts";
import { systemClock } from "../../access/time/system-clock.ts";
import {
  type ClusterProfile,
  clusterProfileApiVersion,
  isClusterProfile,
} from "../../api/cluster-profile.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { ensureBinaries } from "../fleet/binaries.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { type Block, blocksOf, fileNameOf } from "./page.ts";
import { type ProgramResult, runProgram } from "./run-program.ts";
import { userKubeconfig } from "./user-kubeconfig.ts";

const projectRoot = join(import.meta.dirname, "..", "..");
const plugins = ["secretreader", "kubeconfig-secretreader"] as const;
const signal = new AbortController().signal;

/** The page with the addresses of a real spoke in place of the example's. */
function filledIn(page: string, spoke: Cluster): string {
  return page
    .replaceAll("https://spoke-1.example.com:6443", spoke.server)
    .replaceAll('"*.example.com:6443"', '"127.0.0.0/8"')
    .replaceAll("LS0tLS1CRUdJTi...", Buffer.from(spoke.caPem).toString("base64"));
}

describe("docs/access.md", () => {
  const fleet = useFleet({ spokes: 1 });
  let folder = "";
  let blocks: readonly Block[] = [];
  let environment: Record<string, string | undefined> = {};
  const bash = (script: string): Promise<ProgramResult> =>
    runProgram(["bash", "-euo", "pipefail", "-c", script], { cwd: folder, environment, signal });

  beforeAll(async () => {
    const path = await ensureBinaries([...plugins, "kubectl"]);
    folder = join(fleet().folder, "page");
    await mkdir(join(folder, "bin"), { recursive: true });
    await mkdir(join(folder, "plugins"));
    await symlink(join(projectRoot, "docs"), join(folder, "docs"));
    await symlink(path("kubectl"), join(folder, "bin", "kubectl"));
    // Instead of the block that builds them.
    for (const name of plugins) await symlink(path(name), join(folder, "plugins", name));
    const clusters = [fleet().hub, fleet().spoke(0)];
    await writeFile(join(folder, "kubeconfig"), userKubeconfig(clusters), { mode: 0o600 });
    environment = {
      ...process.env,
      KUBECONFIG: join(folder, "kubeconfig"),
      PATH: `${join(folder, "bin")}:${process.env["PATH"] ?? ""}`,
    };
    const page = await readFile(join(projectRoot, "docs", "access.md"), "utf8");
    blocks = blocksOf(filledIn(page, fleet().spoke(0)));
    for (const block of blocks) {
      const name = fileNameOf(block);
      if (name !== undefined) await writeFile(join(folder, name), block.text);
    }
    const scripts = blocks.filter(
      ({ language, text }) => language === "sh" && !text.includes("go build"),
    );
    for (const { text } of scripts) {
      const { code, output } = await bash(text);
      if (code !== 0) throw new Error(`Exit code ${code} of\n${text}\n${output}`);
    }
  });

  test("publishes a healthy ClusterProfile with both ways in", async () => {
    const { output } = await bash(
      "kubectl get clusterprofile spoke-1 -n fleet -o 'jsonpath={.status.accessProviders[*].name} {.status.conditions[0].status}'",
    );
    expect(output).toBe("secretreader kubeconfig-secretreader True");
  });

  test("has provider files without anything odd in them", async () => {
    const shown = blocks.filter(({ language }) => language === "json");
    expect(shown.length).toBe(2);
    const written = await readFile(join(folder, "providers.json"), "utf8");
    for (const text of [...shown.map((block) => block.text), written]) {
      const { providers, warnings } = parseProviderFile(text, {
        path: "providers.json",
        format: "json",
      });
      expect(warnings).toEqual([]);
      expect(providers.map(({ name, problem }) => ({ name, problem }))).toEqual(
        plugins.map((name) => ({ name, problem: undefined })),
      );
    }
  });

  test.each(plugins)("gives access to the spoke through %s", async (name) => {
    const { providers } = await loadProviderFile({ path: join(folder, "providers.json") }, signal);
    const only = {
      providers: providers.filter((provider) => provider.name === name),
      warnings: [],
    };
    const profile = await fleet().hub.admin.get(profileKey);
    await using connection = await connectSpoke(
      { profile: profileOf(profile), providers: only },
      { clock: systemClock, environment, userAgent: "access-page-test" },
      signal,
    );
    expect(connection.provider).toBe(name);
    const allowed = { resource: knownResource("apps/v1", "Deployment") };
    await expect(connection.client.list(allowed, {}, signal)).resolves.toMatchObject({ items: [] });
    const refused = { resource: knownResource("v1", "Node") };
    await expect(connection.client.list(refused, {}, signal)).rejects.toMatchObject({
      status: 403,
    });
  });
});

const profileKey = {
  apiVersion: clusterProfileApiVersion,
  kind: "ClusterProfile",
  namespace: "fleet",
  name: "spoke-1",
};

function profileOf(object: KubeObject | undefined): ClusterProfile {
  if (object === undefined || !isClusterProfile(object))
    throw new Error("There is no ClusterProfile");
  return object;
}
