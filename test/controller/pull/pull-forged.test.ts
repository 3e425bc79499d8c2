import { expect, test } from "vitest";

import { conditionOf } from "../../../api/conditions.ts";
import { componentWorkName } from "../../../api/delivery.ts";
import { Installation } from "../../../controller/reconcile/installation.ts";
import { hubThatPulls, pulled } from "./pull-hub.ts";

// A tenant may write components and ClusterProfiles in her namespace, and nothing else. She wants the cluster of somebody else.
const victim = "prod-eu";
const wantsPull = { "knfleet.dev/delivery": "Pull" };
const forgedRecord = { "knfleet.dev/managed-cluster": victim };
const finalizers = ["knativeservings.operator.knative.dev"];
/** Her ClusterProfile, whose label names the cluster of the victim. */
const forged = { label: victim, isBound: false };

/** A hub with the ManagedCluster of the victim, whose agent runs already. */
function attacked(options: Parameters<typeof hubThatPulls>[0]) {
  const scene = hubThatPulls(options);
  const { memory } = scene;
  memory.edit("ManagedCluster", victim, { metadata: { name: victim } });
  const metadata = { namespace: victim, name: "knfleet-agent", uid: "agent" };
  const values = [{ name: "available", fieldValue: { integer: 1 } }];
  const status = { resourceStatus: { manifests: [{ statusFeedback: { values } }] } };
  memory.edit("ManifestWork", "knfleet-agent", { metadata, status });
  return scene;
}

test.each([
  { what: "a new component", metadata: { annotations: wantsPull } },
  {
    what: "an older component with the record of the cluster",
    metadata: { annotations: forgedRecord, finalizers },
  },
  {
    what: "an older component with both",
    metadata: { annotations: { ...forgedRecord, ...wantsPull }, finalizers },
  },
])(
  "$what whose ClusterProfile has a forged label writes nothing for the cluster that it names",
  async ({ metadata }) => {
    const { requests, memory, attempt } = attacked(forged);
    const component = pulled(metadata);
    const installation = new Installation(component.metadata.uid);
    // One attempt must not prepare the way for the next.
    await attempt(component, [], installation);
    const stored = await attempt(component, [], installation);
    expect(requests).toEqual([]);
    expect(memory.all("ManifestWork").map((work) => work.metadata.name)).toEqual(["knfleet-agent"]);
    expect(conditionOf(stored?.status?.conditions, "TargetClusterResolved")).toMatchObject({
      status: "False",
      reason: "ReferenceNotPermitted",
      message: expect.stringContaining("whose name it does not have"),
    });
  },
);

test("a namespace that is not on the list pulls nothing, also where name and label are the cluster's", async () => {
  const { requests, attempt } = attacked({ namespaces: ["fleet"] });
  const stored = await attempt(pulled({ annotations: wantsPull }));
  expect(requests).toEqual([]);
  expect(conditionOf(stored?.status?.conditions, "TargetClusterResolved")).toMatchObject({
    reason: "ReferenceNotPermitted",
    message: expect.stringContaining("--pull-namespace"),
  });
});

test("a forged record moves the works of a component with an honest ClusterProfile to no other cluster", async () => {
  const { requests, attempt } = attacked({});
  await attempt(pulled({ annotations: { ...forgedRecord, ...wantsPull }, finalizers }));
  expect(requests).toEqual([]);
});

test("the same component with an honest ClusterProfile and without the record is written for its own cluster", async () => {
  const { places, attempt } = attacked({});
  await attempt(pulled({ annotations: wantsPull }));
  expect(new Set(places)).toEqual(new Set(["spoke-1"]));
});

const deletionTimestamp = "2026-01-01T00:00:00Z";

test.each([
  { what: "a forged label and the record", options: forged },
  { what: "an honest label and a forged record", options: {} },
])("the removal of a component with $what deletes nothing of the victim", async ({ options }) => {
  const { memory, requests, attempt } = attacked(options);
  const annotations = { ...forgedRecord, ...wantsPull };
  const component = pulled({ annotations, finalizers, deletionTimestamp });
  // The work of another component of the victim, under the name that the tenant's would have.
  const name = componentWorkName(component);
  const labels = { "knfleet.dev/component-uid": "another" };
  memory.edit("ManifestWork", name, { metadata: { namespace: victim, name, uid: "w", labels } });
  await attempt(component);
  expect(requests).toEqual([]);
});
