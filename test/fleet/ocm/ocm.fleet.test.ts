import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { clusterProfileApiVersion } from "../../../api/cluster-profile.ts";
import { conditionOf, valueAt } from "../json-record.ts";
import { readManifests } from "../manifest-files.ts";
import { useFleet } from "../use-fleet.ts";
import { waitFor } from "../wait-for.ts";
import type { Agent } from "./agent.ts";
import { startOcm, type Ocm } from "./ocm.ts";

const fleet = useFleet({ spokes: 1 });
const examples = join(import.meta.dirname, "../../../docs/examples/ocm");
const profileKey = {
  apiVersion: clusterProfileApiVersion,
  kind: "ClusterProfile",
  namespace: "fleet",
  name: "spoke-1",
};
const clusterKey = {
  apiVersion: "cluster.open-cluster-management.io/v1",
  kind: "ManagedCluster",
  name: "spoke-1",
};

let ocm: Ocm;
let agent: Agent;

beforeAll(async () => {
  ocm = await startOcm(fleet(), { profileCrd: "inventory", log: (line) => console.error(line) });
  const { admin } = fleet().hub;
  for (const manifest of await readManifests(join(examples, "hub.yaml"))) {
    await waitFor("the manifest to be taken", () => admin.apply(manifest));
  }
}, 1_800_000);

afterAll(async () => ocm[Symbol.asyncDispose]());

test("a cluster whose agent asks to be let in is not healthy before it is accepted", async () => {
  const { hub } = fleet();
  agent = await ocm.startAgent(fleet().spoke(0));
  const asking = await waitFor("the ManagedCluster", () => hub.admin.get(clusterKey));
  expect(valueAt(asking, "spec", "hubAcceptsClient")).toBe(false);
  expect(conditionOf(await hub.admin.get(profileKey), "ControlPlaneHealthy")).toBeUndefined();
});

test("an accepted cluster is written as a ClusterProfile, without a way in", async () => {
  const { hub } = fleet();
  const spoke = fleet().spoke(0);
  await ocm.accept(spoke);
  const profile = await waitFor("a healthy ClusterProfile", async () => {
    const found = await hub.admin.get(profileKey);
    return conditionOf(found, "ControlPlaneHealthy")?.status === "True" && found;
  });
  expect(profile).toMatchObject({
    metadata: {
      labels: {
        "x-k8s.io/cluster-manager": "open-cluster-management",
        "open-cluster-management.io/cluster-name": "spoke-1",
      },
    },
    spec: { displayName: "spoke-1", clusterManager: { name: "open-cluster-management" } },
    status: { version: { kubernetes: expect.stringMatching(/^v1\.36\./) } },
  });
  expect(conditionOf(profile, "Joined")?.status).toBe("True");
  expect(valueAt(profile, "status", "accessProviders")).toBeUndefined();
});

test("a placement decides for the cluster", async () => {
  const { admin } = fleet().hub;
  const metadata = { name: "everywhere", namespace: "fleet" };
  await admin.apply({
    apiVersion: "cluster.open-cluster-management.io/v1beta1",
    kind: "Placement",
    metadata,
    spec: { clusterSets: ["global"] },
  });
  const decided = await waitFor("the decision", async () => {
    const decisions = await admin.list({
      apiVersion: "cluster.open-cluster-management.io/v1beta1",
      kind: "PlacementDecision",
      namespace: "fleet",
    });
    return valueAt(decisions[0], "status", "decisions");
  });
  expect(decided).toMatchObject([{ clusterName: "spoke-1" }]);
});

test("a work is carried out, and tells what was asked of it", async () => {
  const { hub } = fleet();
  const spoke = fleet().spoke(0);
  await agent.startWork();
  const map = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "default", name: "a" },
  };
  await hub.admin.create({
    apiVersion: "work.open-cluster-management.io/v1",
    kind: "ManifestWork",
    metadata: { namespace: "spoke-1", name: "a" },
    spec: {
      workload: { manifests: [{ ...map, data: { color: "blue" } }] },
      manifestConfigs: [
        {
          resourceIdentifier: {
            group: "",
            resource: "configmaps",
            namespace: "default",
            name: "a",
          },
          feedbackRules: [
            { type: "JSONPaths", jsonPaths: [{ name: "color", path: ".data.color" }] },
          ],
        },
      ],
    },
  });
  await waitFor("the feedback", async () => {
    const work = await hub.admin.get({
      apiVersion: "work.open-cluster-management.io/v1",
      kind: "ManifestWork",
      namespace: "spoke-1",
      name: "a",
    });
    const feedback = valueAt(work, "status", "resourceStatus", "manifests", 0, "statusFeedback");
    return valueAt(feedback, "values", 0, "fieldValue", "string") === "blue";
  });
  expect(await spoke.admin.get({ ...map, namespace: "default", name: "a" })).toMatchObject({
    data: { color: "blue" },
  });
});

test("a cluster whose agent is silent is no longer healthy", async () => {
  const { hub } = fleet();
  await hub.admin.patch(clusterKey, { spec: { leaseDurationSeconds: 1 } });
  await agent[Symbol.asyncDispose]();
  await expect
    .poll(async () => conditionOf(await hub.admin.get(profileKey), "ControlPlaneHealthy"))
    .toMatchObject({ status: "Unknown" });
});
