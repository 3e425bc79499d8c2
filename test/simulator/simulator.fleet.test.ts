import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { ComponentKind } from "../../api/component.ts";
import { objectId } from "../../api/keys.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../../api/kubernetes.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import { builtInProviderFile, replicaKubeconfig } from "../e2e/built-in-access.ts";
import { componentOf } from "../e2e/installation.ts";
import { watchesSeenBefore } from "../e2e/requests.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { clusterObjects } from "../support/cluster-objects.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";
import { isVolatile } from "../support/spoke-dump.ts";
import { profileNamespace, publishSpokes } from "./publish.ts";
import { type SimulatedSpoke, type Simulator, startSimulator } from "./simulator.ts";

const fleet = useFleet({ spokes: 1 });
const replica = { name: "comparison" };
let simulator: Simulator;
let controller: ControllerProcess;

beforeAll(async () => {
  const { hub } = fleet();
  simulator = await startSimulator({ spokes: 1 });
  await fleet().controllerKubeconfig();
  await publishSpokes(hub.admin, simulator);
  await fleet().addProfile(fleet().spoke(0), { plugin: "secretreader" });
  controller = await startControllerProcess({
    kubeconfig: await replicaKubeconfig(hub, replica),
    providerFile: await builtInProviderFile(fleet(), replica),
    releaseDir: sampleDirOf(),
  });
}, 600_000);

afterAll(async () => {
  await controller[Symbol.asyncDispose]();
  await simulator[Symbol.asyncDispose]();
});

function virtual(): SimulatedSpoke {
  const [spoke] = simulator.spokes;
  if (spoke === undefined) throw new Error("There is no virtual spoke");
  return spoke;
}

const real = "spoke-1";

/** Writes the component of the kind for each of the two clusters, and waits until both say that they are ready and guarded. */
async function install(kind: ComponentKind, version: string): Promise<readonly ObjectKey[]> {
  const { admin } = fleet().hub;
  const components = [real, virtual().name].map((name) => {
    const component = componentOf({
      kind,
      on: { namespace: profileNamespace, name },
      spec: { version },
    });
    return { ...component, metadata: { ...component.metadata, namespace: name } };
  });
  for (const component of components) {
    const { namespace: name } = component.metadata;
    await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    await admin.apply(component);
  }
  const keys = components.map(keyOf);
  const isSettled = async (key: ObjectKey): Promise<boolean> => {
    const object = await admin.get(key);
    const isTrue = (type: string): boolean => conditionOf(object, type)?.status === "True";
    const isNew = String(valueAt(object, "status", "version")).startsWith(version);
    return isNew && isTrue("Ready") && isTrue("AnchorProtected");
  };
  await waitFor(
    "both to be ready",
    async () => (await Promise.all(keys.map(isSettled))).every(Boolean),
    {
      timeoutMs: 180_000,
    },
  );
  return keys;
}

/** Deletes an object behind the controller's back, on both clusters, and waits until both have it again. */
async function loseObject(kind: ComponentKind): Promise<void> {
  const namespace = kind === "KnativeEventing" ? "knative-eventing" : "knative-serving";
  const key = { apiVersion: "v1", kind: "ConfigMap", namespace, name: "config-logging" };
  const { admin } = fleet().spoke(real);
  const lost = virtual().store.get("/ConfigMap", `${namespace}/${key.name}`);
  if (lost === undefined) throw new Error("The virtual spoke has no config-logging");
  await admin.remove(key);
  virtual().store.drop(lost);
  await waitFor("both to have it again", async () => {
    const again = virtual().store.get("/ConfigMap", `${namespace}/${key.name}`);
    return again !== undefined && (await admin.get(key)) !== undefined;
  });
}

async function remove(keys: readonly ObjectKey[]): Promise<void> {
  const { admin } = fleet().hub;
  for (const key of keys) await admin.remove(key);
  await waitFor("both to be gone", async () => {
    const left = await Promise.all(keys.map((key) => admin.get(key)));
    return left.every((object) => object === undefined);
  });
}

type Counts = Readonly<Record<string, number>>;

interface Since {
  /** When the tests of the component began. */
  readonly began: Date;
  /** Earlier requests are not counted. */
  readonly since: Date;
}

/** Requests of the controller to the real spoke since a time, counted as the simulator does. */
async function askedOfReal({ began, since }: Since): Promise<Counts> {
  const { auditLog } = fleet().spoke(real);
  const counts: Record<string, number> = {};
  const isAgain = watchesSeenBefore();
  for (const request of await auditLog.requests({
    userAgent: "knfleet-controller",
    since: began,
  })) {
    const { verb, resource, uri, code, receivedAt } = request;
    if (isAgain(request) || receivedAt < since) continue;
    // A real server takes a moment to serve the kinds of new definitions.
    if (verb === "patch" && code === 404) continue;
    const path = uri.split("?", 1)[0] ?? "";
    const name = `${uri.includes("dryRun=") ? "dry-run " : ""}${verb} ${resource || path}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return comparable(counts);
}

/**
 * Without the questions whether the guard is still there and whether the spoke is, which are asked when it says nothing in that moment, without how many probes of the guard
 * it took until the server had read its policies. Whether another anchor was first counts once: where answers take long, the controller asks again.
 */
function comparable(counts: Counts): Counts {
  const { "get validatingadmissionpolicies": _, "get /readyz": __, ...others } = counts;
  return Object.fromEntries(
    Object.entries(others).map(([name, count]) => [name, isOfChance(name) ? 1 : count]),
  );
}

function isOfChance(name: string): boolean {
  return name.startsWith("dry-run ") || name === "list configmaps";
}

function isPart(object: KubeObject): boolean {
  return !isVolatile(object) && object.metadata.labels?.[componentUidLabel] !== undefined;
}

/** What an installation is: each object with its labels and annotations, without what differs between two clusters. */
function stateOf(objects: Iterable<KubeObject>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    [...objects].filter(isPart).map((object) => {
      const { labels = {}, annotations = {} } = object.metadata;
      const { [componentUidLabel]: _, ...others } = labels;
      // The controller of Deployments writes annotations of its own.
      const own = Object.keys(annotations).filter((name) => !name.startsWith("deployment."));
      return [objectId(keyOf(object)), { labels: others, annotations: own.toSorted() }];
    }),
  );
}

/** Compares what both clusters were asked since a time, and what they have now. Returns how many objects of ours they have. */
async function areAlike(since: Since): Promise<number> {
  await waitFor(
    "the same requests to both",
    async () => {
      expect(comparable(Object.fromEntries(virtual().traffic.counts))).toEqual(
        await askedOfReal(since),
      );
      return true;
    },
    { timeoutMs: 10_000 },
  );
  const state = stateOf(virtual().store.everything());
  expect(state).toEqual(stateOf(await clusterObjects(fleet().spoke(real))));
  return Object.keys(state).length;
}

describe.each(["KnativeEventing", "KnativeServing"] as const)("%s", (kind) => {
  let keys: readonly ObjectKey[] = [];
  let began: Date;

  beforeAll(() => {
    began = new Date();
  });

  test.each([
    ["is installed", () => install(kind, "1.22"), (count: number) => count > 5],
    ["is repaired", () => loseObject(kind), (count: number) => count > 5],
    ["is upgraded", () => install(kind, "1.23"), (count: number) => count > 5],
    ["is removed", () => remove(keys), (count: number) => count === 0],
  ])(
    "%s on a virtual spoke with the same requests and the same end as on a real one",
    async (_what, act, isRight) => {
      const since = new Date();
      virtual().traffic.reset();
      keys = (await act()) ?? keys;
      expect(await areAlike({ began, since })).toSatisfy(isRight);
    },
    300_000,
  );
});
