import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { beforeAll, describe, expect, test } from "vitest";

import { fleetSetApiVersion, fleetSetKinds, longestSetName } from "../../../api/fleet-set.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import type { AdminClient } from "../../fleet/admin-client.ts";
import { ensureBinaries } from "../../fleet/binaries.ts";
import { useFleet } from "../../fleet/use-fleet.ts";

// The fleet installs the CRDs of the chart on its hub.
const fleet = useFleet({ spokes: 0 });
const namespace = "sets";
const clusters = { from: "Selector", selector: { matchLabels: { env: "prod" } } };
const template = { spec: { version: "1.22" } };

let admin: AdminClient;

beforeAll(async () => {
  ({ admin } = fleet().hub);
  await admin.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
});

function setNamed(name: string, spec: object, kind = "KnativeServingSet"): Manifest {
  const whole = { clusters, template, ...spec };
  return { apiVersion: fleetSetApiVersion, kind, metadata: { name, namespace }, spec: whole };
}

const stage = (fields: object) => ({
  rollout: { stages: [{ name: "a", selector: {}, ...fields }] },
});
const window = (fields: object) => ({
  rollout: { windows: [{ cron: "0 22 * * 1-5", duration: "6h", ...fields }] },
});
const override = (fields: object) => ({ overrides: [{ name: "a", patch: {}, ...fields }] });
const property = (fields: object) => ({
  clusters: { from: "Selector", selector: { matchProperties: [{ name: "region", ...fields }] } },
});
const placement = (fields: object) => ({
  clusters: { from: "PlacementDecision", placementDecision: fields },
});

test.each(["KnativeServingSet", "KnativeEventingSet"] as const)(
  "a real API server takes a %s and fills in what is usual",
  async (kind) => {
    const rollout = { stages: [{ name: "canary", selector: { matchLabels: { ring: "0" } } }] };
    const created = await admin.create(setNamed("prod", { rollout }, kind));
    expect(created["spec"]).toMatchObject({
      clusters,
      template,
      adoption: "IfEqual",
      deletionPolicy: "Orphan",
      revisionHistoryLimit: 10,
      rollout: {
        ...rollout,
        unmatched: "Last",
        order: "Hashed",
        minReadySeconds: 0,
        progressDeadline: "15m",
        onFailure: "Pause",
        paused: false,
      },
    });
    expect(fleetSetKinds[kind].plural).toBe(`${kind.toLowerCase()}s`);
  },
);

test("a clusterProfileRef in the template is dropped: the set says which clusters", async () => {
  const ref = { name: "spoke-a", namespace: "fleet" };
  const created = await admin.create(
    setNamed("referring", { template: { spec: { clusterProfileRef: ref, version: "1.22" } } }),
  );
  expect(created["spec"]).toMatchObject({ template: { spec: { version: "1.22" } } });
  expect(JSON.stringify(created["spec"])).not.toContain("clusterProfileRef");
});

describe("the API server accepts", () => {
  test.each([
    [
      "decision groups of a Placement",
      {
        clusters: { from: "OCMPlacement", ocmPlacement: { name: "prod" } },
        rollout: { stages: [{ name: "a", decisionGroup: "canary" }] },
      },
    ],
    ["a key of decisions", placement({ decisionKey: "prod-eu" })],
    ["a percentage", stage({ maxConcurrency: "10%", maxFailures: "0%" })],
    ["a month of soak", stage({ after: { soak: "720h" } })],
    ["a week of window", window({ duration: "168h" })],
    ["a label to order by", { rollout: { order: "Label:example.com/rank" } }],
    ["another set before it", { rollout: { after: { kind: "KnativeServingSet", name: "a" } } }],
    ["no deadline", { rollout: { progressDeadline: "None" } }],
    ["patterns of names", override({ clusters: ["eu-*"] })],
    ["properties", property({ operator: "In", values: ["eu"] })],
    [
      "properties of a stage",
      stage({ selector: { matchProperties: [{ name: "tier", operator: "Exists" }] } }),
    ],
    [
      "properties of an override",
      override({ selector: { matchProperties: [{ name: "r", operator: "In", values: ["eu"] }] } }),
    ],
    ["an empty spec of the component", { template: {} }],
  ])("%s", async (_, spec) => {
    const name = "accepted";
    await admin.create(setNamed(name, spec));
    const key = { apiVersion: fleetSetApiVersion, kind: "KnativeServingSet", namespace, name };
    expect(await admin.remove(key)).toBe(true);
  });
});

describe("the API server refuses", () => {
  const member = "exactly the field that from names";
  const single = "exactly one of";
  test.each([
    ["no clusters", { clusters: undefined }, "spec.clusters"],
    ["no template", { template: undefined }, "spec.template"],
    ["a source without its field", { clusters: { from: "Selector" } }, member],
    ["two sources", { clusters: { ...clusters, ocmPlacement: { name: "a" } } }, member],
    ["a source that does not exist", { clusters: { from: "Names" } }, "Unsupported value"],
    ["two keys of decisions", placement({ decisionKey: "a", placementKey: "b" }), single],
    ["no key of decisions", placement({}), single],
    ["values for Exists", property({ operator: "Exists", values: ["a"] }), "Exists"],
    [
      "no values for In of a stage",
      stage({ selector: { matchProperties: [{ name: "r", operator: "In" }] } }),
      "In and NotIn need values",
    ],
    ["no values for In", property({ operator: "In" }), "In and NotIn need values"],
    ["an override for nobody", override({}), single],
    ["an override for both", override({ clusters: ["a"], selector: {} }), single],
    [
      "two overrides of one name",
      {
        overrides: [
          { name: "a", clusters: ["a"], patch: {} },
          { name: "a", clusters: ["b"], patch: {} },
        ],
      },
      "Duplicate value",
    ],
    ["a stage for nobody", { rollout: { stages: [{ name: "a" }] } }, single],
    [
      "a decision group without a Placement",
      {
        rollout: { stages: [{ name: "a", decisionGroup: "b" }] },
      },
      "decisionGroup only",
    ],
    ["no slot at all", stage({ maxConcurrency: 0 }), "maxConcurrency"],
    ["a percentage above 100", stage({ maxFailures: "101%" }), "maxFailures"],
    ["a soak of a year", stage({ after: { soak: "8760h" } }), "at most 720h"],
    ["a soak in words", stage({ after: { soak: "a while" } }), "soak"],
    ["a window of a minute", window({ duration: "1m" }), "from 10m to 168h"],
    [
      "a name of a stage with a dot",
      { rollout: { stages: [{ name: "a.b", selector: {} }] } },
      "name",
    ],
    [
      "an order after a component",
      { rollout: { after: { kind: "KnativeServing", name: "a" } } },
      "kind",
    ],
    ["a policy that does not exist", { deletionPolicy: "Keep" }, "Unsupported value"],
    ["a history of nothing", { revisionHistoryLimit: 0 }, "revisionHistoryLimit"],
    ["a version that is a number", { template: { spec: { version: 1.22 } } }, "version"],
  ])("%s", async (_, spec, text) => {
    await expect(admin.create(setNamed("refused", spec))).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining(text),
    });
  });

  test("a name that leaves no room for the names of its revisions", async () => {
    const name = "a".repeat(longestSetName + 1);
    await expect(admin.create(setNamed(name, {}))).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining(`at most ${longestSetName} characters`),
    });
    expect(await admin.create(setNamed(name.slice(1), {}))).toMatchObject({ spec: { clusters } });
  });
});

test("kubectl knows the short name and the category, shows the columns and explains fields", async () => {
  const binaries = await ensureBinaries(["kubectl"]);
  const { adminKubeconfigPath } = fleet().hub;
  const kubectl = async (...args: string[]): Promise<string> => {
    const flags = ["--kubeconfig", adminKubeconfigPath, ...args];
    return (await promisify(execFile)(binaries("kubectl"), flags)).stdout;
  };
  await admin.create(setNamed("shown", {}));
  const table = await kubectl("get", "kss", "shown", "-n", namespace);
  expect(table.split("\n")[0]?.split(/\s+/)).toEqual([
    "NAME",
    "VERSION",
    "SELECTED",
    "DONE",
    "FAILED",
    "PHASE",
    "STAGE",
    "AGE",
  ]);
  expect(await kubectl("get", "knfleet", "-n", namespace, "-o", "name")).toContain(
    "knativeservingset.knfleet.dev/shown",
  );
  const explained = await kubectl("explain", "kes.spec.rollout.stages");
  expect(explained).toContain(
    "Clusters that may change at the same time; default 10%, at least one.",
  );
});
