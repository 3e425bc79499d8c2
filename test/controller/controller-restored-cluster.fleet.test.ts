// Servers of its own: what etcd has stored is replaced by an older copy.
import { resolve } from "node:path";

import { afterEach, beforeAll, expect, test } from "vitest";

import { operatorApiVersion } from "../../api/component.ts";
import type { KubeObject, ObjectKey } from "../../api/kubernetes.ts";
import { anchorAnnotations } from "../../installation/anchor.ts";
import type { Profile } from "../fleet/fleet.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";

const releaseDir = resolve(import.meta.dirname, "../fixtures/release");
const namespace = "knative-eventing";
const key = {
  apiVersion: operatorApiVersion,
  kind: "KnativeEventing",
  namespace,
  name: "eventing",
};
const controllerKey: ObjectKey = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  namespace,
  name: "eventing-controller",
};
// Less than a watch that says nothing is believed.
const soon = { timeoutMs: 90_000 };
const fleet = useFleet({ spokes: 1 });
let profile: Profile;
let controller: ControllerProcess;

beforeAll(async () => {
  profile = await fleet().addProfile(fleet().spoke(0), { plugin: "secretreader" });
  controller = await startControllerProcess({
    kubeconfig: await fleet().controllerKubeconfig(),
    releaseDir,
    providerFile: await fleet().providerFile(),
    flags: ["--log-level=debug"],
    // A server that was restored is found by questions that the controller asks in pauses.
    clockFactor: 4,
  });
  return () => controller.stop();
}, 600_000);

afterEach(async () => {
  const { admin } = fleet().hub;
  await admin.remove(key);
  await waitFor("the component to be gone", async () => (await admin.get(key)) === undefined, {
    timeoutMs: 180_000,
  });
}, 300_000);

async function install(spec: object): Promise<KubeObject> {
  const { admin } = fleet().hub;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const clusterProfileRef = { namespace: profile.namespace, name: profile.name };
  const metadata = { namespace, name: key.name };
  const { apiVersion, kind } = key;
  await admin.create({ apiVersion, kind, metadata, spec: { clusterProfileRef, ...spec } });
  return ready();
}

function ready(): Promise<KubeObject> {
  return says("Ready", "True");
}

/** Waits until a condition of the present generation has a status. */
function says(type: string, wanted: string): Promise<KubeObject> {
  return waitFor(
    `${type}=${wanted}`,
    async () => {
      const component = await fleet().hub.admin.get(key);
      const isSeen =
        valueAt(component, "status", "observedGeneration") === component?.metadata.generation;
      return isSeen && conditionOf(component, type)?.status === wanted && component;
    },
    soon,
  );
}

/** When the condition Ready turned last. */
function turnOf(component: KubeObject): unknown {
  const conditions = valueAt(component, "status", "conditions");
  const all: readonly unknown[] = Array.isArray(conditions) ? conditions : [];
  const found = all.find((condition) => valueAt(condition, "type") === "Ready");
  return valueAt(found, "lastTransitionTime");
}

/** What the Deployment on the spoke has somewhere below its template. */
async function deployed(what: string, path: readonly string[], wanted: RegExp): Promise<void> {
  const { admin } = fleet().spoke(0);
  const isThere = async (): Promise<boolean> => {
    const deployment = await admin.get(controllerKey);
    return wanted.test(JSON.stringify(valueAt(deployment, "spec", "template", ...path)));
  };
  await waitFor(what, isThere, soon);
}

function label(value: string): object {
  return { deployments: [{ name: controllerKey.name, labels: { edit: value } }] };
}

function labelled(value: string): Promise<void> {
  return deployed(`the label ${value}`, ["metadata", "labels"], new RegExp(`"edit":"${value}"`));
}

function edit(value: string): Promise<KubeObject> {
  return fleet().hub.admin.patch(key, { spec: label(value) });
}

// More than 15 s: etcd and the API server start again with the older copy, and no watch tells of that: the next question of the controller does.
test("a spoke whose etcd was restored is brought to its version again, and is not ready meanwhile", async () => {
  await install({ version: "1.22" });
  const restore = await fleet().spoke(0).backUp();
  await fleet().hub.admin.patch(key, { spec: { version: "1.23" } });
  const upgraded = await ready();
  expect(valueAt(upgraded, "status", "version")).toBe("1.23.1");
  const before = turnOf(upgraded);
  await restore();
  await deployed("the new version", ["spec", "containers"], /:1\.23\.1"/);
  const again = await ready();
  expect(valueAt(again, "status", "version")).toBe("1.23.1");
  expect(turnOf(again)).not.toBe(before);
}, 600_000);

test("an edit counts after the etcd of the hub was restored, without a new start", async () => {
  const { hub } = fleet();
  await install(label("first"));
  const restore = await hub.backUp();
  await edit("second");
  await labelled("second");
  await ready();
  for (let count = 0; count < 300; count += 1) {
    const metadata = { namespace, name: `later-${count}` };
    await hub.admin.create({ apiVersion: "v1", kind: "ConfigMap", metadata });
  }
  await fleet().hub.admin.patch(key, { metadata: { annotations: { looked: "again" } } });
  await edit("third");
  await labelled("third");
  await ready();
  await restore();
  await labelled("first");
  const { metadata } = await edit("fourth");
  await labelled("fourth");
  expect((await ready()).metadata.generation).toBe(metadata.generation);
}, 600_000);

test("a component whose Deployments are deleted again and again does not stay ready", async () => {
  await install({ version: "1.23" });
  const { admin } = fleet().spoke(0);
  const policies = ["ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"];
  const stop = new AbortController();
  const vandal = (async () => {
    while (!stop.signal.aborted) {
      for (const kind of policies) {
        const apiVersion = "admissionregistration.k8s.io/v1";
        const found = await admin.list({ apiVersion, kind });
        const ours = found.filter(
          ({ metadata }) => metadata.labels?.[anchorAnnotations.hubId] !== undefined,
        );
        for (const { metadata } of ours) {
          await admin.remove({ apiVersion, kind, name: metadata.name }).catch(() => undefined);
        }
      }
      const anchors = await admin.list({ apiVersion: "v1", kind: "ConfigMap", namespace });
      for (const { metadata } of anchors) {
        if (metadata.annotations?.[anchorAnnotations.componentUid] === undefined) continue;
        const anchor = { apiVersion: "v1", kind: "ConfigMap", namespace, name: metadata.name };
        // Refused while a policy is there.
        await admin.remove(anchor).catch(() => undefined);
      }
    }
  })();
  try {
    const doubted = await says("DeploymentsAvailable", "False");
    expect(conditionOf(doubted, "Ready")?.status).not.toBe("True");
  } finally {
    stop.abort();
    await vandal;
  }
  await ready();
}, 600_000);
