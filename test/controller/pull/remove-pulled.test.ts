import { expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
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
  /** Uid of the component of that work; default: its own. */
  readonly workOf?: string;
  /** A work with the Job of a check is there. */
  readonly check?: true;
  /** Names of further components that are pulled to the same cluster. */
  readonly others?: readonly string[];
  /** ClusterProfile of the further components; default: the same. */
  readonly othersRef?: string;
  /** The ClusterProfile is gone. */
  readonly withoutProfile?: boolean;
}

/** A pulled component that is being deleted, and one attempt for it. */
async function removed(scene: Scene) {
  const { cluster, annotations = {}, work, workOf, others = [], othersRef = "spoke-1" } = scene;
  const { now, requests, told, memory, storeWork, attempt } = hubThatPulls(cluster);
  if (scene.withoutProfile === true) memory.drop("ClusterProfile", "spoke-1");
  storeWork("knfleet-agent");
  if (work !== undefined) storeWork(workName, work, workOf);
  if (scene.check === true) {
    const labels = { "knfleet.dev/component-uid": uid, "knfleet.dev/check": "smoke" };
    storeWork("knfleet-smoke", { labels });
  }
  const stored = await attempt(
    pulled({
      annotations: { ...record, ...annotations },
      finalizers: ["knativeservings.operator.knative.dev"],
      deletionTimestamp: now,
    }),
    // A younger one: of two components of a cluster the older one removes the works.
    others.map((other) => ({
      ...pulled({ name: other, uid: `d${uid}` }),
      spec: { clusterProfileRef: { namespace: "knative-serving", name: othersRef } },
    })),
  );
  return {
    requests,
    told,
    stored,
    installed: conditionOf(stored?.status?.conditions, "InstallSucceeded"),
  };
}

const orphaning = { "knfleet.dev/force-orphan": uid };

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

test("the Jobs of its checks go with the last of its works, also where it is orphaned", async () => {
  for (const annotations of [{}, orphaning]) {
    // oxlint-disable-next-line no-await-in-loop -- one after another
    const { requests, stored } = await removed({ check: true, annotations, others: ["b"] });
    expect(requests).toEqual(["delete knfleet-smoke"]);
    expect(stored?.metadata.finalizers).toEqual([]);
  }
});

test("the agent stays for another component of the cluster", async () => {
  const { requests, stored } = await removed({ others: ["b"] });
  expect(requests).toEqual([]);
  expect(stored?.metadata.finalizers).toEqual([]);
});

test("a record that the ClusterProfile contradicts is not believed: the component has nothing there", async () => {
  const { requests, stored } = await removed({ cluster: { label: "spoke-2" } });
  expect(requests).toEqual([]);
  expect(stored?.metadata.finalizers).toEqual([]);
});

test("a record of a component whose ClusterProfile is gone is not believed without a work with its uid", async () => {
  const { requests, stored } = await removed({ withoutProfile: true, work: {}, workOf: "other" });
  expect(requests).toEqual([]);
  expect(stored?.metadata.finalizers).toEqual([]);
});

test("a record that is forged does not orphan the agent either", async () => {
  const { requests } = await removed({ annotations: orphaning, withoutProfile: true });
  expect(requests).toEqual([]);
});

test("its own work is deleted, whatever became of the ClusterProfile", async () => {
  const { requests } = await removed({ withoutProfile: true, work: {} });
  expect(requests).toEqual([`delete ${workName}`]);
});

test("the agent does not stay for a component whose ClusterProfile does not lead to the cluster", async () => {
  const { requests } = await removed({ others: ["b"], othersRef: "spoke-9" });
  expect(requests).toEqual(["delete knfleet-agent"]);
});

const pushed = { "knfleet.dev/pushed-before": "true" };

test.each(["SpokeUnreachable", "AccessProviderNotConfigured", "ClusterProfileNotFound"] as const)(
  "a component that was pushed before does not go while the hub cannot look whether it still is: %s",
  async (refusal) => {
    const { stored, told } = await removed({ annotations: pushed, cluster: { refusal } });
    expect(stored?.metadata.finalizers).toHaveLength(1);
    expect(told).toEqual([expect.stringMatching(new RegExp(`^${refusal}: .*force-orphan=`))]);
  },
);

test("a component that was pushed before does not go while its spoke answers 503 about the anchor", async () => {
  const busy = { status: 503, reason: "ServiceUnavailable", message: "", causes: [] };
  const error = new ApiError({ ...busy, isStatus: true, request: "GET /anchor" });
  const { stored, told } = await removed({
    annotations: pushed,
    cluster: { anchor: () => Promise.reject(error) },
  });
  expect(stored?.metadata.finalizers).toHaveLength(1);
  expect(told.join()).not.toContain("Removed everything");
});

test("a component that was pushed before goes when its spoke has no anchor", async () => {
  const { stored } = await removed({
    annotations: pushed,
    cluster: { anchor: () => Promise.resolve(undefined) },
  });
  expect(stored?.metadata.finalizers).toEqual([]);
});

test("a record that no ClusterProfile contradicts any more is believed", async () => {
  const { requests } = await removed({ cluster: { label: null }, work: {} });
  expect(requests).toEqual([`delete ${workName}`]);
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

const kept = { "knfleet.dev/keep-while-used": "true" };

test("a component that is kept while it is used says so on its spoke before its work is deleted", async () => {
  const { requests } = await removed({ annotations: kept, work: {} });
  expect(requests).toEqual([`patch ${workName}`]);
});

const applied = { type: "Applied", status: "True", observedGeneration: 2 };

test.each([
  ["was taken off when the component was deleted", kept, 2],
  // An earlier attempt, or one for the component before its deletion, wrote the work.
  ["was taken off shortly before", {}, 3],
])(
  "a component that is no longer kept while it is used: its spoke learns it before the work goes: the annotation %s",
  async (_what, annotations, generation) => {
    const { now, memory, requests, storeWork, attempt } = hubThatPulls();
    const finalizers = ["knativeservings.operator.knative.dev"];
    const going = pulled({ annotations: record, finalizers, deletionTimestamp: now });
    const told = (observedGeneration: number, of: number, status = "True"): void => {
      const stored = memory.find("ManifestWork", workName);
      const metadata = { ...stored?.metadata, generation: of };
      const conditions = [{ ...applied, status, observedGeneration }];
      memory.edit("ManifestWork", workName, { ...stored, metadata, status: { conditions } });
    };
    storeWork(workName, {}, uid, annotations);
    told(2, generation);
    await attempt(going);
    const first = generation === 2 ? [`patch ${workName}`] : [];
    expect(requests).toEqual(first);
    told(2, 3);
    await attempt(going);
    expect(requests).toEqual(first);
    // Also when the spoke could not take it: nothing more is to be had.
    told(3, 3, "False");
    await attempt(going);
    expect(requests).toEqual([...first, `delete ${workName}`]);
  },
);

test("the work of a silent cluster is not deleted yet, so that it can still be orphaned", async () => {
  const { requests, stored } = await removed({ cluster: { available: "Unknown" }, work: {} });
  expect(requests).toEqual([]);
  expect(conditionOf(stored?.status?.conditions, "TargetClusterResolved")?.message).toMatch(
    /its agent has not reported to the hub yet; to delete the component and leave everything .*force-orphan=/,
  );
});

const both = [`patch ${workName}`, "patch knfleet-agent"];

test("an orphaned component of a silent cluster goes at once, and its works stay as orphans", async () => {
  const { requests, stored } = await removed({
    annotations: orphaning,
    cluster: { available: "Unknown" },
    work: {},
  });
  expect(requests).toEqual(both);
  expect(stored?.metadata.finalizers).toEqual([]);
});

test("an orphaned component of another cluster waits until its agent knows", async () => {
  const { requests, stored } = await removed({ annotations: orphaning, work: {} });
  expect(requests).toEqual(both);
  expect(stored?.metadata.finalizers).toHaveLength(1);
});

test("the agent is not orphaned while another component of the cluster needs it", async () => {
  const { requests } = await removed({ annotations: orphaning, work: {}, others: ["b"] });
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
