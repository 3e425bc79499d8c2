import { expect, test } from "vitest";

import { conditionOf } from "../../../api/conditions.ts";
import { componentWorkName } from "../../../api/delivery.ts";
import { asComponent } from "../../../controller/component-identity.ts";
import { deliver } from "../../../controller/deliver.ts";
import { Installation } from "../../../controller/reconcile/installation.ts";
import { serving } from "../../support/component.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { hubWithNone, kind, name } from "../dispatched-hub.ts";

const workName = componentWorkName(serving());
const { signal } = new AbortController();

interface Scene {
  /** Of the condition of the ManagedCluster; default: True. */
  readonly available?: "True" | "Unknown";
  readonly annotations?: Readonly<Record<string, string>>;
  /** Fields of the metadata of its work; undefined: there is none. */
  readonly work?: object;
  /** Names of further components that are pulled to the same cluster. */
  readonly others?: readonly string[];
}

function pulled(metadata: object) {
  return serving({
    metadata: { annotations: { "knfleet.dev/managed-cluster": "spoke-1" }, ...metadata },
    spec: { clusterProfileRef: { namespace: "knative-serving", name: "spoke-1" } },
    status: { conditions: [] },
  });
}

/** A pulled component that is being deleted, and one attempt for it. */
async function removed({ available = "True", annotations = {}, work, others = [] }: Scene) {
  const memory = new MemoryHub();
  const { deps, clock } = hubWithNone({ memory });
  const deletionTimestamp = clock.date().toISOString();
  const finalizers = ["knativeservings.operator.knative.dev"];
  const component = pulled({
    annotations: { "knfleet.dev/managed-cluster": "spoke-1", ...annotations },
    finalizers,
    deletionTimestamp,
  });
  memory.edit(kind, name, component);
  const condition = { type: "ManagedClusterConditionAvailable", status: available };
  memory.edit("ManagedCluster", "spoke-1", { status: { conditions: [condition] } });
  const works = { apiVersion: "work.open-cluster-management.io/v1" };
  const place = { namespace: "spoke-1", uid: "u" };
  memory.edit("ManifestWork", "knfleet-agent", {
    ...works,
    metadata: { ...place, name: "knfleet-agent" },
  });
  if (work !== undefined) {
    memory.edit("ManifestWork", workName, {
      ...works,
      metadata: { ...place, name: workName, ...work },
    });
  }
  const requests: string[] = [];
  const hub = {
    ...deps.hub,
    list: memory.list,
    patch: async (...args: Parameters<typeof memory.patch>) => {
      if (args[0].resource.kind === "ManifestWork") requests.push(`patch ${args[0].name}`);
      return memory.patch(...args);
    },
    // As for an object with a finalizer.
    remove: async (ref: { readonly name: string }) => {
      requests.push(`delete ${ref.name}`);
      return "gone" as const;
    },
    apply: async (ref: { readonly name: string }, object: object) => {
      requests.push(`apply ${ref.name}`);
      return memory.edit("ManifestWork", ref.name, { ...object });
    },
  };
  const events = { record: () => Promise.resolve(), audit: () => Promise.resolve() };
  const all = [component, ...others.map((other) => pulled({ name: other, uid: other }))];
  const components = { all: () => all };
  const installation = new Installation(component.metadata.uid);
  const attemptDeps = { ...deps, hub, events, components, onChange: () => undefined };
  await installation.attempt(
    { component, ...attemptDeps },
    (writer, either) => deliver({ component, installation, writer }, attemptDeps, either),
    signal,
  );
  const stored = asComponent(memory.find(kind, name));
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
  const { requests, stored } = await removed({ available: "Unknown", work: {} });
  expect(requests).toEqual([]);
  expect(conditionOf(stored?.status?.conditions, "TargetClusterResolved")?.message).toMatch(
    /its agent has not reported to the hub yet; to delete the component and leave everything .*force-orphan=/,
  );
});

const { uid } = serving().metadata;
const annotations = { "knfleet.dev/force-orphan": uid };
const both = [`patch ${workName}`, "patch knfleet-agent"];

test("an orphaned component of a silent cluster goes at once, and its works stay as orphans", async () => {
  const { requests, stored } = await removed({ annotations, available: "Unknown", work: {} });
  expect(requests).toEqual(both);
  expect(stored?.metadata.finalizers).toEqual([]);
});

test("an orphaned component of another cluster waits until its agent knows", async () => {
  const { requests, stored } = await removed({ annotations, work: {} });
  expect(requests).toEqual(both);
  expect(stored?.metadata.finalizers).toHaveLength(1);
});
