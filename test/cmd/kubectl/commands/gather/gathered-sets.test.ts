import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type FleetSet, setLabels } from "../../../../../api/fleet-set.ts";
import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { unpackTar } from "../../../../../cmd/kubectl/bundle/tar.ts";
import { component } from "../../fleet-facts.ts";
import { runText } from "../../run-text.ts";
import { fleetSet, stamped } from "../../set-facts.ts";
import { startStubHub } from "../../stub-hub.ts";
import { answersTables } from "../../stub-tables.ts";

const placed = fleetSet();
const template = { spec: { config: { registry: { password: "correct-horse" } } } };
const set: FleetSet = {
  ...placed,
  spec: {
    ...placed.spec,
    clusters: { from: "PlacementDecision", placementDecision: { decisionKey: "prod-eu" } },
    template,
  },
};
const other = fleetSet({ kind: "KnativeEventingSet", name: "lab" });
const own = stamped(set, { cluster: null });
const byHand = component({ cluster: null, name: "by-hand" });

function object(
  kind: "ControllerRevision" | "PlacementDecision",
  name: string,
  labels: Readonly<Record<string, string>>,
): KubeObject {
  const apiVersion = kind === "ControllerRevision" ? "apps/v1" : "multicluster.x-k8s.io/v1alpha1";
  const metadata = { namespace: "team-a", name, uid: name, resourceVersion: "1", labels };
  return { apiVersion, kind, metadata };
}

const ofSet = (name: string) => ({ [setLabels.set]: name, [setLabels.kind]: "KnativeServingSet" });
const decisionKey = "multicluster.x-k8s.io/decision-key";
const beside: readonly KubeObject[] = [
  { ...object("ControllerRevision", "prod-1", ofSet("prod")), data: { template } },
  object("ControllerRevision", "gone-1", ofSet("gone")),
  object("ControllerRevision", "of-a-statefulset", { app: "db" }),
  object("PlacementDecision", "eu", { [decisionKey]: "prod-eu" }),
  object("PlacementDecision", "us", { [decisionKey]: "prod-us" }),
];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-gathered-sets-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What a bundle has of the hub: the names of the objects by file, all of its text, and where it is. */
async function gathered(
  name: string,
  objects: readonly KubeObject[],
  args: readonly string[] = [],
) {
  const tables = answersTables(objects);
  const hasSets = objects.includes(set);
  await using hub = await startStubHub(objects, (request) => {
    const isMissing = !hasSets && request.path.includes("/knfleet.dev/");
    return isMissing ? { status: 404, body: "404 page not found" } : tables(request);
  });
  const path = join(folder, `${name}.tgz`);
  const { exitCode, stderr } = await runText(
    ["gather", "--no-live", "--tail", "0", "-o", path, ...args],
    { env: hub.env },
  );
  expect({ exitCode, stderr: exitCode === 0 ? "" : stderr }).toEqual({ exitCode: 0, stderr: "" });
  const files = await unpackTar(gunzipSync(await readFile(path)));
  const names = files.flatMap(({ path: file, text }) => {
    const [, kind] = /hub\/(.*)\.json$/.exec(file) ?? [];
    return kind === undefined ? [] : [[kind, namesIn(text)] as const];
  });
  return { path, names: Object.fromEntries(names), text: files.map(({ text }) => text).join("\n") };
}

function namesIn(text: string): readonly string[] {
  const { rows } = JSON.parse(text);
  return rows.map((row: { object: KubeObject }) => row.object.metadata.name).toSorted();
}

describe("gather", () => {
  test("takes along sets, their ControllerRevisions and the decisions that they name", async () => {
    const { names, text } = await gathered("all", [set, other, own, byHand, ...beside]);
    expect(names).toMatchObject({
      "knativeservingsets.knfleet.dev": ["prod"],
      "knativeeventingsets.knfleet.dev": ["lab"],
      "controllerrevisions.apps": ["prod-1"],
      "placementdecisions.multicluster.x-k8s.io": ["eu"],
    });
    expect(text).not.toContain("correct-horse");
  });

  test("of some installations takes along the sets of these", async () => {
    const objects = [set, other, own, byHand, ...beside];
    const { names } = await gathered("some", objects, ["ks/knative-serving"]);
    expect(names).toMatchObject({
      "knativeservingsets.knfleet.dev": ["prod"],
      "knativeeventingsets.knfleet.dev": [],
      "controllerrevisions.apps": ["prod-1"],
    });
    const { names: without } = await gathered("none", objects, ["ks/by-hand"]);
    expect(Object.keys(without).filter((kind) => /sets\.knfleet|revisions/.test(kind))).toEqual([]);
  });

  test("of the whole fleet takes along ControllerRevisions without a set", async () => {
    const { names } = await gathered("whole", [set, own, ...beside], ["-A"]);
    expect(names).toMatchObject({ "controllerrevisions.apps": ["gone-1", "prod-1"] });
  });

  test("takes along nothing of sets from a hub without them", async () => {
    const { names } = await gathered("bare", [byHand, ...beside], ["-A"]);
    const kinds = Object.keys(names).filter((kind) =>
      /sets\.knfleet|revisions|decisions/.test(kind),
    );
    expect(kinds).toEqual([]);
  });

  test("makes bundles on which status and tree show sets", async () => {
    const { path, text } = await gathered("read", [set, other, own, ...beside], ["-A"]);
    expect(text).toContain('"sets":[{"namespace":"team-a"');
    const status = await runText(["status", "-A", "--no-live", "--bundle", path]);
    expect(status.stdout).toMatch(/^team-a +kss\/prod +/m);
    const one = await runText(["status", "-A", "--no-live", "--set", "prod", "--bundle", path]);
    expect(one.stdout).toContain("knative-serving");
    const tree = await runText(["tree", "-A", "--bundle", path]);
    expect(tree.stdout).toMatch(/^KnativeServingSet team-a\/prod +/m);
  });
});
