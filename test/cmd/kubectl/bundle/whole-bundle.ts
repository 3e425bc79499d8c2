import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { commandTable } from "../../../../cmd/kubectl/command-table.ts";
import { goldenLines } from "../golden/golden-lines.ts";
import { recordedFolder } from "../golden/record-scene.ts";
import { fleetSet } from "../set-facts.ts";

/** A diff as gather records it. */
const diff = {
  apiVersion: "knfleet.dev/v1",
  kind: "DiffList",
  generatedAt: "2026-11-22T01:58:19Z",
  cliVersion: "0.1.0",
  complete: true,
  summary: {
    installations: 1,
    clusters: 1,
    unread: 0,
    compared: 1,
    changed: 1,
    missing: 0,
    extra: 0,
    sides: ["LIVE", "RENDERED"],
  },
  items: [],
  errors: [],
  blocks: [
    {
      installation: { kind: "KnativeServing", namespace: "team-a", name: "knative-serving" },
      compared: 1,
      changes: [
        {
          change: "changed",
          key: { apiVersion: "v1", kind: "ConfigMap", namespace: "team-a", name: "config-network" },
          live: {
            apiVersion: "v1",
            kind: "ConfigMap",
            metadata: { name: "config-network", namespace: "team-a" },
            data: { a: "1" },
          },
          wanted: {
            apiVersion: "v1",
            kind: "ConfigMap",
            metadata: { name: "config-network", namespace: "team-a" },
            data: { a: "2" },
          },
          message: null,
          managers: ["kubectl"],
          pods: null,
        },
      ],
    },
  ],
};

/** Writes a bundle with everything that one can have into a folder: also a set, and a diff. */
export function writeWholeBundle(folder: string): void {
  cpSync(join(recordedFolder, "whole"), folder, { recursive: true });
  const table = {
    kind: {
      apiVersion: "knfleet.dev/v1alpha1",
      group: "knfleet.dev",
      kind: "KnativeServingSet",
      plural: "knativeservingsets",
      namespaced: true,
      words: ["knativeservingsets", "kss"],
      categories: [],
    },
    columns: [{ name: "Name", priority: 0 }],
    rows: [{ cells: ["prod"], object: fleetSet() }],
    unread: [],
  };
  const write = (file: string, document: unknown) =>
    writeFileSync(join(folder, file), JSON.stringify(document));
  write("hub/knativeservingsets.knfleet.dev.json", table);
  write("diff.json", diff);
}

/** What stands behind the name of a command that reads bundles, where it is not that of a golden line. */
const argsOf: Readonly<Record<string, readonly string[]>> = {
  diff: ["diff"],
  top: ["top", "--once"],
  ui: ["ui", "--once", "PAGE"],
  "rollout status": ["rollout", "status", "kss/prod", "-n", "team-a"],
  "rollout history": ["rollout", "history", "kss/prod", "-n", "team-a"],
};

/** The lines of all commands that read bundles. mcp runs the other commands when a client asks it; so it is not here. */
export const bundleCommands = commandTable()
  .filter(({ name, readsBundles }) => readsBundles === true && name !== "mcp")
  .map(({ name }) => {
    const line = goldenLines[name];
    const args = argsOf[name] ?? (line !== undefined && "args" in line ? line.args : undefined);
    if (args === undefined) throw new Error(`There is no command line for ${name}`);
    return args;
  });

/** The commands that say which document is wrong: each reads another part of the bundle. */
export const tellingCommands = bundleCommands.filter(([name = "", verb]) =>
  ["status", "diagnose", "diff", "check", "logs", "tree", "gather"].some((one) =>
    [name, verb].includes(one),
  ),
);
