import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { targetId } from "../../../../api/keys.ts";
import { type ActionInput, print, type Rendering } from "../../../../cmd/kubectl/action.ts";
import { deploymentReport } from "../../../../cmd/kubectl/commands/deployments/deployments.ts";
import type { VersionSummary } from "../../../../cmd/kubectl/commands/version/version-text.ts";
import { versionItemOf, versionReport } from "../../../../cmd/kubectl/commands/version/version.ts";
import { type RawFlags, readFlags } from "../../../../cmd/kubectl/flags.ts";
import { ClustersRead } from "../../../../cmd/kubectl/fleet/fleet.ts";
import { statusItemOf } from "../../../../cmd/kubectl/fleet/status-item.ts";
import { statusTable } from "../../../../cmd/kubectl/fleet/status-text.ts";
import { fleetStatusOf } from "../../../../cmd/kubectl/fleet/status.ts";
import { printReport } from "../../../../cmd/kubectl/main/print-report.ts";
import { timeText } from "../../../../cmd/kubectl/output/duration.ts";
import { statusNotes } from "../../../../cmd/kubectl/output/notes.ts";
import { now } from "../fleet-facts.ts";
import { sampleComponents, sampleReadings } from "./sample-fleet.ts";

const stamp = { generatedAt: "2026-11-21T12:00:00Z", cliVersion: "1.0.0" };
const ages = timeText(false, now);
const asked = {
  commands: { kubectl: "kubectl --context hub", knfleet: "kubectl knfleet --context hub" },
  narrowed: false,
};

/** Both streams, one after the other. */
async function written(
  raw: RawFlags,
  work: (input: Pick<ActionInput<unknown>, "flags" | "terminal">) => Promise<unknown>,
): Promise<string> {
  let stdout = "";
  let stderr = "";
  const terminal = {
    args: [],
    env: {},
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
    now: () => now,
  };
  await work({ flags: readFlags({ ...raw, context: "hub" }, {}), terminal });
  const text = stdout.replace(/(?<=cliVersion"?: "?)[\d.]+/, "1.0.0");
  return stderr === "" ? text : `${text}--- stderr\n${stderr}`;
}

function printed(rendering: Rendering, raw: RawFlags): Promise<string> {
  return written(raw, ({ flags, terminal }) => print(rendering, flags, terminal));
}

function golden(name: string): string {
  return join(import.meta.dirname, "../../../golden/kubectl", name);
}

const formats: readonly (readonly [string, RawFlags])[] = [
  ["table.txt", {}],
  ["wide.txt", { output: "wide" }],
  ["colour.txt", { color: "always" }],
  ["no-headers.txt", { headers: false, quiet: true }],
  ["json.txt", { output: "json" }],
  ["yaml.txt", { output: "yaml" }],
];

/** A replica that serves the cluster, none, and one that is not known. */
const replicas = [
  { replica: { name: "knfleet-controller-7d9f8c6b5-abcde", shard: 0, shards: 3 } },
  { replica: { name: null, shard: 1, shards: 3 } },
  {},
];

describe("status is printed as agreed", () => {
  const report = fleetStatusOf(
    sampleComponents.map((each, at) => ({
      ...statusItemOf(each, sampleReadings.get(targetId(each))),
      ...replicas[at % replicas.length],
    })),
    ['knativeservings.operator.knative.dev "gone"'],
    stamp,
  );
  const rendering: Rendering = {
    document: report,
    table: (isWide) => statusTable(report.items, { isWide, times: ages }),
    notes: statusNotes(report, asked),
  };

  test.each(formats)("as %s", async (file, flags) => {
    await expect(await printed(rendering, flags)).toMatchFileSnapshot(golden(`status.${file}`));
  });

  test("without live view", async () => {
    const items = sampleComponents.map((each) => statusItemOf(each, undefined));
    const hubOnly = fleetStatusOf(items, [], stamp);
    const text = await printed(
      {
        document: hubOnly,
        table: (isWide) => statusTable(hubOnly.items, { isWide, times: ages }),
        notes: statusNotes(hubOnly, asked),
      },
      {},
    );
    await expect(text).toMatchFileSnapshot(golden("status.no-live.txt"));
  });

  test.each([
    ["status.empty-namespace.txt", { ...asked, namespace: "team-x" }],
    ["status.empty-fleet.txt", { ...asked, narrowed: true }],
  ])("%s", async (file, of) => {
    const empty = fleetStatusOf([], [], stamp);
    const text = await printed(
      {
        document: empty,
        table: (isWide) => statusTable(empty.items, { isWide, times: ages }),
        notes: statusNotes(empty, of),
      },
      {},
    );
    await expect(text).toMatchFileSnapshot(golden(file));
  });
});

describe("deployments are printed as agreed", () => {
  const report = deploymentReport(sampleComponents, new ClustersRead(sampleReadings), []);

  test.each(formats)("as %s", async (file, raw) => {
    const text = await written(raw, (input) => printReport("DeploymentList", report, input));
    await expect(text).toMatchFileSnapshot(golden(`deployments.${file}`));
  });
});

describe("versions are printed as agreed", () => {
  const known = { KnativeServing: ["1.24.0", "1.23.0"], KnativeEventing: ["1.23.0"] };
  const summary: VersionSummary = {
    client: {
      version: "1.0.0",
      node: "v24.12.0",
      platform: "linux/x64",
      releases: { folder: "/home/me/releases", ...known, problem: null },
    },
    hub: { server: "https://hub.example.com:6443", kubernetes: "v1.36.3" },
    controllers: [
      {
        flavour: "knfleet",
        namespace: "knfleet-system",
        name: "knfleet-controller",
        image: "registry.example.com/knfleet-controller:v0.9.1",
        version: "0.9.1",
        plugins: [
          {
            name: "plugin-secretreader",
            image: "registry.example.com/secretreader:v0.1.3",
            version: "0.1.3",
          },
        ],
      },
    ],
    agents: [
      { version: "0.9.1", image: "registry.example.com/knfleet:v0.9.1", clusters: 2 },
      { version: null, image: "registry.example.com/knfleet@sha256:0", clusters: 1 },
    ],
    skew: [
      {
        between: "Controller",
        message: "knfleet-system/knfleet-controller is 0.9.1, this program 1.0.0",
      },
    ],
    shards: 3,
    replicas: [
      { name: "knfleet-controller-7d9f8c6b5-abcde", shards: [0, 2], fleet: true },
      { name: "knfleet-controller-7d9f8c6b5-xyzab", shards: [], fleet: false },
      { name: null, shards: [1], fleet: false },
    ],
  };
  const read = new ClustersRead(sampleReadings);
  const items = sampleComponents
    .slice(0, 3)
    .map((each) => versionItemOf(each, read.of(each), known));
  const report = versionReport(summary, items, [], false);

  test.each(formats)("as %s", async (file, raw) => {
    const text = await written(raw, (input) => printReport("Version", report, input));
    await expect(text).toMatchFileSnapshot(golden(`version.${file}`));
  });
});
