import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert, asyncProperty, constantFrom, record, nat } from "fast-check";
import { describe, expect, test } from "vitest";

import { recordedFleet } from "../../../../cmd/kubectl/bundle/read-bundle.ts";
import { runsOf, seed } from "../../../support/fuzz.ts";
import { goldenLines } from "../golden/golden-lines.ts";
import { recordedFolder } from "../golden/record-scene.ts";
import { runText } from "../run-text.ts";

const scene = join(recordedFolder, "whole");
const files = globSync("**/*.json", { cwd: scene }).toSorted();
const commands = Object.values(goldenLines).flatMap((line) => ("args" in line ? [line.args] : []));

/** The places of all values in a document, from the outside in. */
function placesIn(value: unknown, place: readonly string[] = []): readonly (readonly string[])[] {
  const below =
    typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([key, one]) => placesIn(one, [...place, key]))
      : [];
  return [place, ...below];
}

function withValue(document: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  const fields: Readonly<Record<string, unknown>> = Object.assign({}, document);
  const changed = { ...fields, [key]: withValue(fields[key], rest, value) };
  return Array.isArray(document) ? Object.values(changed) : changed;
}

/** What every command says of the recorded fleet with one file changed. */
async function saidOf(file: string, change: (document: unknown) => unknown) {
  const folder = mkdtempSync(join(tmpdir(), "knfleet-malformed-"));
  try {
    cpSync(scene, folder, { recursive: true });
    const document: unknown = JSON.parse(readFileSync(join(folder, file), "utf8"));
    writeFileSync(join(folder, file), JSON.stringify(change(document)));
    const said: string[] = [];
    for (const args of commands) {
      const line = [...args, "-A", "-o", "wide", "--bundle", folder];
      // oxlint-disable-next-line no-await-in-loop -- one command after another
      const { stdout, stderr } = await runText(line, { env: { KNFLEET_RELEASE_DIR: "/none" } });
      said.push(stdout + stderr);
    }
    return said.join("\n").replaceAll(folder, "FOLDER");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("a bundle of which a value is something else", () => {
  test.each([
    [
      "check.json",
      ["items", "0", "next"],
      7,
      "check.json of the bundle FOLDER is not what gather writes: /items/0/next must be array",
    ],
    [
      "diagnosis.json",
      ["items", "0", "hops", "0"],
      null,
      "diagnosis.json of the bundle FOLDER is not what gather writes: /items/0/hops/0 must be object",
    ],
    [
      "hub/pods.json",
      ["kind", "words"],
      "text",
      "hub/pods.json of the bundle FOLDER is not what gather writes",
    ],
    [
      "hub/pods.json",
      ["unread"],
      [null],
      "hub/pods.json of the bundle FOLDER is not what gather writes",
    ],
    // Found by a seed: status as HTML has no time for it.
    [
      "hub/knativeeventings.operator.knative.dev.json",
      ["rows", "1", "object", "metadata", "creationTimestamp"],
      [],
      "hub/knativeeventings.operator.knative.dev.json of the bundle FOLDER is not what gather writes",
    ],
    // tree tells the condition of each ClusterProfile.
    [
      "hub/clusterprofiles.multicluster.x-k8s.io.json",
      ["rows", "0", "object", "status", "conditions"],
      "text",
      "ClusterProfile",
    ],
    [
      "hub/clusterprofiles.multicluster.x-k8s.io.json",
      ["rows", "0", "object", "status", "conditions", "0"],
      null,
      "ClusterProfile",
    ],
    ...(
      [
        ["version", 7],
        ["conditions", "text"],
        ["conditions", "0", "status", "text"],
        ["conditions", "0", "reason", []],
        ["conditions", "0", "message", null],
      ] as const
    ).map(
      (place) =>
        [
          "hub/knativeservings.operator.knative.dev.json",
          ["rows", "0", "object", "status", ...place.slice(0, -1).map(String)],
          place.at(-1),
          "has not the form of its CRD",
        ] as const,
    ),
    ["bundle.json", ["items"], {}, "FOLDER is no bundle of kubectl knfleet gather"],
    // Found by a seed: status tells the provider of each cluster.
    ["bundle.json", ["items", "3", "provider"], [], "is no bundle of kubectl knfleet gather"],
  ] as const)("%s, %j: it is named", async (...[file, place, value, message]) => {
    const said = await saidOf(file, (document) => withValue(document, place, value));
    expect(said).toContain(message);
    expect(said).not.toContain("Internal error");
  });

  // With the runs of CI more than 2 s: each bundle is read by every command; KNFLEET_FUZZ_SHARE says how many bundles there are.
  test(`is never an internal error (KNFLEET_SEED=${seed})`, async () => {
    const values = constantFrom<unknown>(null, 7, "text", [], {}, [null], true, -5e30, "-1");
    const input = record({ file: constantFrom(...files), at: nat(), value: values });
    await assert(
      asyncProperty(input, async ({ file, at, value }) => {
        const said = await saidOf(file, (document) => {
          const places = placesIn(document);
          return withValue(document, places[at % places.length] ?? [], value);
        });
        expect(said).not.toContain("Internal error");
      }),
      { seed, numRuns: runsOf(60) },
    );
  }, 600_000);
});

test("a bundle of many clusters is read in one pass over its files", () => {
  const item = { cluster: "fleet/c", server: null, provider: null, kubernetesVersion: null };
  const count = 20_000;
  const folders = Array.from({ length: count }, (_, at) => `spokes/${at}`);
  const index = {
    apiVersion: "knfleet.dev/v1",
    kind: "Bundle",
    generatedAt: "2026-11-21T12:00:00Z",
    summary: { namespace: "default" },
    items: folders.map((folder) => ({ ...item, folder, objects: 0, unread: null })),
  };
  const table = {
    kind: { apiVersion: "v1", kind: "Pod", plural: "pods", words: [], categories: [] },
    columns: [],
    rows: [],
    unread: [],
  };
  const { hub, spokes } = recordedFleet("many", [
    { path: "bundle.json", text: JSON.stringify(index) },
    ...folders.map((folder) => ({ path: `${folder}/pods.json`, text: JSON.stringify(table) })),
  ]);
  expect(hub.tables).toHaveLength(1);
  expect(spokes).toHaveLength(count - 1);
});
