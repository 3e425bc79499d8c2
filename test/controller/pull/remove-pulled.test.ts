import { expect, test } from "vitest";

import { conditionOf } from "../../../api/conditions.ts";
import { componentWorkName } from "../../../api/delivery.ts";
import { serving } from "../../support/component.ts";
import { hubThatPulls, pulled, record } from "./pull-hub.ts";

const workName = componentWorkName(serving());
const { uid } = serving().metadata;

interface Scene {
  readonly cluster?: Parameters<typeof hubThatPulls>[0];
  readonly annotations?: Readonly<Record<string, string>>;
  /** Fields of the metadata of its work; undefined: there is none. */
  readonly work?: object;
  /** Names of further components that are pulled to the same cluster. */
  readonly others?: readonly string[];
}

/** A pulled component that is being deleted, and one attempt for it. */
async function removed({ cluster, annotations = {}, work, others = [] }: Scene) {
  const { now, requests, storeWork, attempt } = hubThatPulls(cluster);
  storeWork("knfleet-agent");
  if (work !== undefined) storeWork(workName, work);
  const stored = await attempt(
    pulled({
      annotations: { ...record, ...annotations },
      finalizers: ["knativeservings.operator.knative.dev"],
      deletionTimestamp: now,
    }),
    // A younger one: of two components of a cluster the older one removes the works.
    others.map((other) => pulled({ name: other, uid: `d${uid}` })),
  );
  return {
    requests,
    stored,
    installed: conditionOf(stored?.status?.conditions, "InstallSucceeded"),
  };
}

test("a removal deletes the work and waits until it is gone", async () => {
  const { requests, stored, installed } = await removed({ work: {} });
  expect(requests).toEqual([`delete ${workName}`]);
  expect(stored?.metadata.finalizers).toHaveLength(1);
  expect(installed?.reason).toBe("Finalizing");
});

test("the agent goes with the last component, and then the finalizer", async () => {
  const { requests, stored } = await removed({});
  expect(requests).toEqual(["delete knfleet-agent"]);
  expect(stored?.metadata.finalizers).toEqual([]);
});

test("the agent stays for another component of the cluster", async () => {
  const { requests, stored } = await removed({ others: ["b"] });
  expect(requests).toEqual([]);
  expect(stored?.metadata.finalizers).toEqual([]);
});

test("a record that the ClusterProfile contradicts is not believed", async () => {
  const { requests, stored } = await removed({ cluster: { label: "spoke-2" } });
  expect(requests).toEqual([]);
  expect(stored?.metadata.finalizers).toHaveLength(1);
});

test("a work that has been going for ten minutes is told", async () => {
  const { requests, installed } = await removed({
    work: { deletionTimestamp: "2020-01-01T00:00:00Z" },
  });
  expect(requests).toEqual([]);
  expect(installed?.message).toContain(
    "has been going since 2020-01-01T00:00:00Z; look at the spoke",
  );
});

test("a component that is kept while it is used says so on its spoke before its work is deleted", async () => {
  const annotations = { "knfleet.dev/keep-while-used": "true" };
  const { requests } = await removed({ annotations, work: {} });
  expect(requests).toEqual([`apply ${workName}`]);
});

test("the work of a silent cluster is not deleted yet, so that it can still be orphaned", async () => {
  const { requests, stored } = await removed({ cluster: { available: "Unknown" }, work: {} });
  expect(requests).toEqual([]);
  expect(conditionOf(stored?.status?.conditions, "TargetClusterResolved")?.message).toMatch(
    /its agent has not reported to the hub yet; to delete the component and leave everything .*force-orphan=/,
  );
});

const annotations = { "knfleet.dev/force-orphan": uid };
const both = [`patch ${workName}`, "patch knfleet-agent"];

test("an orphaned component of a silent cluster goes at once, and its works stay as orphans", async () => {
  const { requests, stored } = await removed({
    annotations,
    cluster: { available: "Unknown" },
    work: {},
  });
  expect(requests).toEqual(both);
  expect(stored?.metadata.finalizers).toEqual([]);
});

test("an orphaned component of another cluster waits until its agent knows", async () => {
  const { requests, stored } = await removed({ annotations, work: {} });
  expect(requests).toEqual(both);
  expect(stored?.metadata.finalizers).toHaveLength(1);
});

test("the agent is not orphaned while another component of the cluster needs it", async () => {
  const { requests } = await removed({ annotations, work: {}, others: ["b"] });
  expect(requests).toEqual([`patch ${workName}`]);
});

test("the works of a duplicate are left to the component that has the cluster", async () => {
  const { now, requests, storeWork, attempt } = hubThatPulls();
  storeWork("knfleet-agent");
  storeWork(workName);
  const finalizers = ["knativeservings.operator.knative.dev"];
  const stored = await attempt(
    pulled({ annotations: record, finalizers, deletionTimestamp: now }),
    [pulled({ name: "b", uid: `b${uid}` })],
  );
  expect(requests).toEqual([]);
  expect(stored?.metadata.finalizers).toEqual([]);
});
