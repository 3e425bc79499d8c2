import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { assert, asyncProperty, constantFrom, record, nat } from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { documentOf } from "../../../../cmd/kubectl/bundle/bundle-document.ts";
import {
  checkFile,
  diagnosisFile,
  diffFile,
  logsFile,
} from "../../../../cmd/kubectl/bundle/bundle.ts";
import { recordedFleet } from "../../../../cmd/kubectl/bundle/read-bundle.ts";
import { runsOf, seed } from "../../../support/fuzz.ts";
import { placesIn, withValue } from "../changed-value.ts";
import { runText } from "../run-text.ts";
import { bundleCommands, tellingCommands, writeWholeBundle } from "./whole-bundle.ts";

const documentFiles = [checkFile, diagnosisFile, diffFile, logsFile] as const;

let scene: string;
let files: readonly string[];

beforeAll(() => {
  scene = mkdtempSync(join(tmpdir(), "knfleet-scene-"));
  writeWholeBundle(scene);
  files = globSync("**/*.json", { cwd: scene }).toSorted();
});
afterAll(() => rmSync(scene, { recursive: true }));

/** What commands say of the recorded fleet with one file changed. */
function saidOf(
  file: string,
  change: (document: unknown) => unknown,
  asked = bundleCommands,
): Promise<string> {
  return saidOfText(file, (text) => JSON.stringify(change(JSON.parse(text))), asked);
}

async function saidOfText(
  file: string,
  change: (text: string) => string,
  asked = bundleCommands,
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "knfleet-malformed-"));
  try {
    cpSync(scene, folder, { recursive: true });
    writeFileSync(join(folder, file), change(readFileSync(join(folder, file), "utf8")));
    const said: string[] = [];
    for (const args of asked) {
      const [page, name] = [join(folder, "page.html"), args.join(" ")];
      const all = args.includes("-n") ? [] : ["-A"];
      const format = /^(?:top|ui) /.test(name) ? [] : ["-o", "wide"];
      const own = args.map((arg) => (arg === "PAGE" ? page : arg));
      const line = [...own, ...all, ...format, "--bundle", folder];
      // oxlint-disable-next-line no-await-in-loop -- one command after another
      const { stdout, stderr } = await runText(line, { env: { KNFLEET_RELEASE_DIR: "/none" } });
      said.push(`${name}: ${stdout}${stderr}`);
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
    ["bundle.json", ["items"], {}, "/items must be array"],
    ["bundle.json", ["items"], [], "/items must NOT have fewer than 1 items"],
    ["bundle.json", ["kind"], "List", "FOLDER is no bundle of kubectl knfleet gather"],
    ["bundle.json", ["apiVersion"], "knfleet.dev/v9", "is of a version that this"],
    ["bundle.json", ["generatedAt"], "soon", "/generatedAt must be a time"],
    ["bundle.json", ["errors", "0"], null, "/errors/0 must be object"],
    ["bundle.json", ["summary"], null, "/summary must be object"],
    // Found by a seed: status tells the provider of each cluster.
    ["bundle.json", ["items", "3", "provider"], [], "/items/3/provider must be string or null"],
    [
      "logs.json",
      ["items", "0", "line"],
      7,
      "logs.json of the bundle FOLDER is not what gather writes: /items/0/line must be string",
    ],
    ["logs.json", ["errors"], [null], "/errors/0 must be object"],
    ["logs.json", [], [], "logs.json of the bundle FOLDER is of a version that"],
    ["check.json", ["summary"], null, "/summary must be object"],
    ["diff.json", ["blocks", "0", "changes", "0", "managers"], "x", "/managers must be array"],
    ["diff.json", ["blocks", "0", "changes", "0", "live"], [], "/changes/0/live must be object"],
    [
      "hub/pods.json",
      ["rows", "0", "object", "metadata", "uid"],
      7,
      "/rows/0/object/metadata is of no",
    ],
    ["hub/pods.json", ["rows", "0", "object", "metadata", "name"], "n".repeat(2_000), "/rows/0/"],
    [
      "hub/knativeservingsets.knfleet.dev.json",
      ["rows", "0", "object", "spec", "rollout", "stages"],
      "all",
      "KnativeServingSet team-a/prod has not the form of a set: spec.rollout.stages must be array",
    ],
  ] as const)("%s, %j: it is named", async (...[file, place, value, message]) => {
    const said = await saidOf(
      file,
      (document) => withValue(document, place, value),
      tellingCommands,
    );
    expect(said).toContain(message);
    expect(said).not.toContain("Internal error");
  });

  test.each([
    ["is no JSON", "{", "it is no JSON"],
    ["is empty", "", "it is no JSON"],
    [
      "is nested deeper than an answer of an API server",
      `${"[".repeat(100_000)}${"]".repeat(100_000)}`,
      "it has more than 200 levels",
    ],
  ])("a file that %s is named, by its name", async (_, text, why) => {
    for (const file of ["hub/pods.json", "bundle.json", "logs.json", "check.json"]) {
      const asked = file === "hub/pods.json" ? bundleCommands : tellingCommands.slice(0, 1);
      // oxlint-disable-next-line no-await-in-loop -- one file after another
      const said = await saidOfText(file, () => text, asked);
      const lines = said.match(/error: .*/g) ?? [];
      const named = `error: ${file} of the bundle FOLDER is not what gather writes: ${why}`;
      expect(new Set(lines)).toEqual(new Set([named]));
    }
  });

  test("every file of it is checked: none of another form is passed over", () => {
    const index = readFileSync(join(scene, "bundle.json"), "utf8");
    // All files of a cluster are checked alike.
    const byFolder = Map.groupBy(files, (path) => dirname(path));
    const checked = [...byFolder].flatMap(([at, all]) => (at === "." ? all : all.slice(0, 1)));
    for (const path of checked) {
      for (const text of ["null", '"text"', "[null]", "{}"]) {
        const others = path === "bundle.json" ? [] : [{ path: "bundle.json", text: index }];
        const read = () => {
          const fleet = recordedFleet("BUNDLE", [...others, { path, text }]);
          for (const file of documentFiles) if (file === path) documentOf(fleet, file);
        };
        expect(read, `${path}: ${text}`).toThrow(
          new RegExp(`^(?:BUNDLE is no bundle|${RegExp.escape(path)} of the bundle BUNDLE is )`),
        );
      }
    }
  });

  test("mcp ends with the same sentence before it serves anything", async () => {
    const { stderr, exitCode } = await runText(["mcp", "--bundle", join(scene, "hub")]);
    expect(stderr).toContain("hub is no bundle of kubectl knfleet gather");
    expect(exitCode).toBe(2);
  });

  // With more runs more than 2 s: each bundle is read by every command; KNFLEET_FUZZ_SHARE says how many bundles there are.
  test(`is never an internal error (KNFLEET_SEED=${seed})`, async () => {
    const long = "x".repeat(100_000);
    const values = constantFrom<unknown>(null, 7, "text", [], {}, [null], true, -5e30, "-1", long);
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
