import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { print, type Rendering } from "../../../../cmd/kubectl/action.ts";
import { deploymentsTable } from "../../../../cmd/kubectl/commands/deployments/deployments-action.ts";
import { deploymentListOf } from "../../../../cmd/kubectl/commands/deployments/deployments.ts";
import { statusItemOf } from "../../../../cmd/kubectl/commands/status/status-item.ts";
import { statusTable } from "../../../../cmd/kubectl/commands/status/status-text.ts";
import { fleetStatusOf } from "../../../../cmd/kubectl/commands/status/status.ts";
import {
  versionLines,
  versionNotes,
  versionTable,
} from "../../../../cmd/kubectl/commands/version/version-action.ts";
import {
  versionItemOf,
  type VersionReport,
} from "../../../../cmd/kubectl/commands/version/version.ts";
import { type RawFlags, readFlags } from "../../../../cmd/kubectl/flags.ts";
import { timeText } from "../../../../cmd/kubectl/output/duration.ts";
import { deploymentNotes, statusNotes } from "../../../../cmd/kubectl/output/notes.ts";
import { clusterIdOf } from "../../../../cmd/kubectl/spokes/read-clusters.ts";
import { now } from "../fleet-facts.ts";
import { sampleComponents, sampleReadings } from "./sample-fleet.ts";

const stamp = { generatedAt: "2026-11-21T12:00:00Z", cliVersion: "1.0.0" };
const ages = timeText(false, now);
const asked = {
  commands: { kubectl: "kubectl --context hub", knfleet: "kubectl knfleet --context hub" },
  narrowed: false,
};

/** Both streams of one print, one after the other. */
async function printed(rendering: Rendering, raw: RawFlags): Promise<string> {
  let stdout = "";
  let stderr = "";
  await print(rendering, readFlags(raw, {}), {
    args: [],
    env: {},
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    now: () => now,
  });
  return stderr === "" ? stdout : `${stdout}--- stderr\n${stderr}`;
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
      ...statusItemOf(each, sampleReadings.get(clusterIdOf(each))),
      ...replicas[at % replicas.length],
    })),
    ['knativeservings.operator.knative.dev "gone"'],
    stamp,
  );
  const rendering: Rendering = {
    document: report,
    table: (wide) => statusTable(report, wide, ages),
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
        table: (wide) => statusTable(hubOnly, wide, ages),
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
        table: (wide) => statusTable(empty, wide, ages),
        notes: statusNotes(empty, of),
      },
      {},
    );
    await expect(text).toMatchFileSnapshot(golden(file));
  });
});

describe("deployments are printed as agreed", () => {
  const list = deploymentListOf(sampleComponents, sampleReadings, { ...stamp, missing: [] });
  const rendering: Rendering = {
    document: list,
    table: (wide) => deploymentsTable(list, wide, ages),
    notes: deploymentNotes(list, asked),
  };

  test.each(formats)("as %s", async (file, flags) => {
    await expect(await printed(rendering, flags)).toMatchFileSnapshot(
      golden(`deployments.${file}`),
    );
  });
});

describe("versions are printed as agreed", () => {
  const known = { KnativeServing: ["1.24.0", "1.23.0"], KnativeEventing: ["1.23.0"] };
  const report: VersionReport = {
    apiVersion: "knfleet.dev/v1",
    kind: "Version",
    ...stamp,
    complete: true,
    summary: {
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
    },
    items: sampleComponents
      .slice(0, 3)
      .map((each) => versionItemOf(each, { readings: sampleReadings, known })),
    errors: [],
  };

  test.each(formats)("as %s", async (file, flags) => {
    const rendering: Rendering = {
      document: report,
      heading: versionLines(report, flags.output === "wide"),
      table: () => versionTable(report),
      notes: versionNotes(report),
    };
    await expect(await printed(rendering, flags)).toMatchFileSnapshot(golden(`version.${file}`));
  });
});
