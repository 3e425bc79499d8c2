import { expect, test } from "vitest";

import { componentWorkName, managedClusterOf } from "../../../api/delivery.ts";
import { listAt, recordAt } from "../../../api/fields.ts";
import { openReleases } from "../../../cmd/open-releases.ts";
import { sampleDirOf } from "../../../cmd/release-files.ts";
import { withReadAnchor } from "../../../controller/apply/install-state.ts";
import { Installation } from "../../../controller/reconcile/installation.ts";
import { serving } from "../../support/component.ts";
import { bareInstaller } from "../apply/bare-spoke.ts";
import { anchorWith } from "../apply/stored-anchor.ts";
import { observeScripted, ScriptedWatches } from "../observe/scripted-watches.ts";
import { hubThatPulls, pulled, record, runAgent } from "./pull-hub.ts";

const workName = componentWorkName(serving());
const finalizers = ["knativeservings.operator.knative.dev"];
const annotations = { ...record, "knfleet.dev/delivery": "Push" };

/** One attempt for a component that was pulled and is to be pushed again, on a hub that does not reach the spoke. */
async function handedBack(work?: object) {
  const { requests, storeWork, attempt } = hubThatPulls();
  storeWork("knfleet-agent");
  if (work !== undefined) storeWork(workName, work);
  const stored = await attempt(pulled({ annotations, finalizers }));
  return { requests, stored };
}

test("the spoke is told to let go, and its works stay while nothing was taken over", async () => {
  const { requests, stored } = await handedBack({});
  expect(requests).toEqual([`patch ${workName}`]);
  expect(stored && managedClusterOf(stored)).toBe("spoke-1");
});

function pulledAs(delivery: "Pull" | "Push") {
  return pulled({ annotations: { ...record, "knfleet.dev/delivery": delivery }, finalizers });
}

test("the spoke goes on when the component is pulled again before the hub has taken over", async () => {
  const { memory, attempt } = hubThatPulls({ refusal: "SpokeUnreachable" });
  const told = () => {
    const workload = recordAt(memory.find("ManifestWork", workName), "spec", "workload");
    const [, copy] = listAt(workload, "manifests");
    return recordAt(copy, "metadata", "annotations")["knfleet.dev/delivery"];
  };
  runAgent(memory);
  await attempt(pulledAs("Pull"));
  await attempt(pulledAs("Push"));
  expect(told()).toBe("Push");
  await attempt(pulledAs("Pull"));
  expect(told()).toBeUndefined();
});

test.each([
  { name: "is gone", work: undefined },
  { name: "is going", work: { deletionTimestamp: "2026-01-01T00:00:00Z" } },
])("nothing is written into a work that $name", async ({ work }) => {
  const { requests, stored } = await handedBack(work);
  expect(requests).toEqual([]);
  expect(stored && managedClusterOf(stored)).toBe("spoke-1");
});

const openScripted = () => observeScripted(new ScriptedWatches());

/** The hub has installed on the spoke under an anchor of its own, and does not reach it at the moment. */
async function takenOver({
  complete = true,
  status = "True",
  works = [workName],
  available = "True",
  attempts = 1,
}: Taken = {}) {
  const { requests, told, storeWork, attempt } = hubThatPulls({
    available,
    refusal: "SpokeUnreachable",
    releases: await openReleases(sampleDirOf()),
  });
  for (const work of works) storeWork(work);
  const component = pulled({ annotations, finalizers });
  await using installation = new Installation(component.metadata.uid);
  const { target } = await bareInstaller(() => undefined);
  const { memory } = await installation.viewOver(target.client, openScripted);
  memory.become((state) =>
    withReadAnchor(state, anchorWith({ version: "1.22.0", complete, entries: [] })),
  );
  const conditions = [{ type: "InstallSucceeded", status }];
  const installed = { ...component, status: { conditions } };
  for (let more = 1; more < attempts; more += 1) await attempt(installed, [], installation);
  const stored = await attempt(installed, [], installation);
  return { requests, cluster: (stored && managedClusterOf(stored)) ?? "none", told };
}

interface Taken {
  /** Everything is under the anchor of the hub. */
  readonly complete?: boolean;
  readonly status?: "True" | "False";
  /** Names of the works that the hub still has. */
  readonly works?: readonly string[];
  /** Of the ManagedCluster. */
  readonly available?: "True" | "Unknown";
  readonly attempts?: number;
}

test("the works go when everything was taken over, and the record stays until they are gone", async () => {
  expect(await takenOver()).toMatchObject({
    requests: [`patch ${workName}`, `delete ${workName}`],
    cluster: "spoke-1",
  });
});

test("the record of the cluster goes when the works are gone", async () => {
  expect(await takenOver({ works: [] })).toMatchObject({ requests: [], cluster: "none" });
});

test.each<{ name: string; taken: Taken }>([
  { name: "not everything is under the anchor of the hub", taken: { complete: false } },
  { name: "the install did not succeed", taken: { status: "False" } },
])("the works stay when $name", async ({ taken }) => {
  expect(await takenOver(taken)).toMatchObject({
    requests: [`patch ${workName}`],
    cluster: "spoke-1",
  });
});

test("works that have to stay are told of once, and so does the record", async () => {
  const { requests, cluster, told } = await takenOver({ available: "Unknown", attempts: 2 });
  const ofWorks = told.filter((text) => text.includes("The works of the component stay: "));
  expect({ requests, cluster, ofWorks }).toEqual({
    requests: [`patch ${workName}`],
    cluster: "spoke-1",
    ofWorks: [expect.stringMatching(/^\w+: The works of the component stay: .*spoke-1/)],
  });
});
