import { afterEach, beforeAll, describe, expect, test } from "vitest";

import { keyOf, type KubeObject, type ObjectKey } from "../../api/kubernetes.ts";
import { anchorNameOf } from "../../installation/anchor.ts";
import {
  spokeNamespaceAnnotation,
  type SpokeNamespaceMode,
} from "../../installation/installation-namespace.ts";
import type { Cluster, Profile } from "../fleet/fleet.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";
import { componentOf, installed } from "./installation.ts";
import { writesTo } from "./requests.ts";
import { writeThinRelease } from "./thin-release.ts";

const fleet = useFleet({ spokes: 2 });
const kind = "KnativeEventing";
const name = "knative-eventing";
const patience = { timeoutMs: 120_000 };

let releaseDir: string;
let controller: ControllerProcess | undefined;

beforeAll(async () => {
  releaseDir = await writeThinRelease(fleet().folder, 3);
});

afterEach(async () => controller?.[Symbol.asyncDispose]());

async function start(mode: SpokeNamespaceMode): Promise<ControllerProcess> {
  await controller?.[Symbol.asyncDispose]();
  controller = await startControllerProcess({
    kubeconfig: await fleet().controllerKubeconfig(),
    providerFile: await fleet().providerFile(),
    releaseDir,
    flags: [`--spoke-namespace=${mode}`, "--anchor-protection=None"],
  });
  return controller;
}

const profiles = new Map<Cluster, Promise<Profile>>();

function profileOf(spoke: Cluster): Promise<Profile> {
  const known = profiles.get(spoke) ?? fleet().addProfile(spoke, { plugin: "secretreader" });
  profiles.set(spoke, known);
  return known;
}

/** A component in a namespace of the hub, for a spoke. */
async function create(namespace: string, spoke: Cluster): Promise<ObjectKey> {
  const { admin } = fleet().hub;
  const manifest = componentOf({ kind, on: await profileOf(spoke), spec: { version: "latest" } });
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const metadata = { ...manifest.metadata, namespace };
  return keyOf(await admin.create({ ...manifest, metadata }));
}

function ready(key: ObjectKey): Promise<KubeObject> {
  return waitFor(
    `${key.namespace ?? ""} to be ready`,
    async () => {
      const component = await fleet().hub.admin.get(key);
      return conditionOf(component, "Ready")?.status === "True" && component;
    },
    patience,
  );
}

async function remove(key: ObjectKey): Promise<void> {
  const { admin } = fleet().hub;
  await admin.remove(key);
  const isGone = async () => (await admin.get(key)) === undefined;
  await waitFor(`${key.namespace ?? ""} to be gone`, isGone, patience);
}

/** Namespaces in which the installation of a component has anything. */
async function placesOf(spoke: Cluster, { metadata }: KubeObject): Promise<readonly string[]> {
  const objects = await installed(spoke, metadata.uid);
  return [...new Set(objects.flatMap(({ metadata: { namespace } }) => namespace ?? []))];
}

async function anchorsOn({ admin }: Cluster): Promise<readonly string[]> {
  const all = await admin.list({ apiVersion: "v1", kind: "ConfigMap" });
  const anchors = all.filter(({ metadata }) => metadata.name === anchorNameOf({ kind, name }));
  return anchors.map(({ metadata }) => metadata.namespace ?? "");
}

function hasNamespace({ admin }: Cluster, namespace: string): Promise<boolean> {
  const key = { apiVersion: "v1", kind: "Namespace", name: namespace };
  return admin.get(key).then((found) => found !== undefined);
}

function recorded(component: KubeObject | undefined): string | undefined {
  return component?.metadata.annotations?.[spokeNamespaceAnnotation];
}

test("two components of one name in different namespaces of the hub come to the canonical namespace of their spokes", async () => {
  await start("Canonical");
  const both = [
    { spoke: fleet().spoke(0), key: await create("team-a", fleet().spoke(0)) },
    { spoke: fleet().spoke(1), key: await create("team-b", fleet().spoke(1)) },
  ];
  for (const { spoke, key } of both) {
    const component = await ready(key);
    expect(await placesOf(spoke, component)).toEqual([name]);
    expect(await anchorsOn(spoke)).toEqual([name]);
    expect(await hasNamespace(spoke, key.namespace ?? "")).toBe(false);
    expect(recorded(component)).toBe(name);
  }
  await Promise.all(both.map(({ key }) => remove(key)));
  for (const { spoke } of both) expect(await anchorsOn(spoke)).toEqual([]);
});

describe("an installation stays where it is", () => {
  test("when the mode changes, also where the component does not say any more where it is, or says something wrong", async () => {
    const spoke = fleet().spoke(0);
    const { admin } = fleet().hub;
    await start("Component");
    const key = await create("team-stays", spoke);
    const before = await ready(key);
    expect(await placesOf(spoke, before)).toEqual(["team-stays"]);
    expect(recorded(before)).toBe("team-stays");
    for (const wrong of [null, "kube-system"]) {
      await controller?.[Symbol.asyncDispose]();
      const annotations = { [spokeNamespaceAnnotation]: wrong };
      await admin.patch(key, { metadata: { annotations } });
      const since = new Date();
      await start("Canonical");
      const isRight = async () => recorded(await admin.get(key)) === "team-stays";
      await waitFor(`the record to be right again after ${wrong ?? "none"}`, isRight, patience);
      const labels = { "knfleet.dev/test": String(wrong) };
      await admin.patch(key, { spec: { namespace: { labels } } });
      const { metadata } = await admin.patch(key, {
        spec: { "high-availability": { replicas: 1 } },
      });
      const isObserved = async () => {
        const component = await admin.get(key);
        return valueAt(component, "status", "observedGeneration") === metadata.generation;
      };
      await waitFor("the change to be seen", isObserved, patience);
      const component = await ready(key);
      expect(await placesOf(spoke, component)).toEqual(["team-stays"]);
      const writes = await writesTo(spoke, since);
      expect(writes.filter(({ namespace }) => namespace === name)).toEqual([]);
    }
    await remove(key);
    expect(await anchorsOn(spoke)).toEqual([]);
  });

  test("when the controller was killed between its first write and the anchor, and the mode changed", async () => {
    const spoke = fleet().spoke(1);
    const policy = await refuseAnchors(spoke);
    const first = await start("Component");
    const key = await create("team-killed", spoke);
    await waitFor("the first write", () => hasNamespace(spoke, "team-killed"), patience);
    await first.kill();
    expect(await anchorsOn(spoke)).toEqual([]);
    const since = new Date();
    await policy.end();
    await start("Canonical");
    const component = await ready(key);
    expect(recorded(component)).toBe("team-killed");
    expect(await placesOf(spoke, component)).toEqual(["team-killed"]);
    const writes = await writesTo(spoke, since);
    expect(writes.filter(({ namespace }) => namespace === name)).toEqual([]);
    await remove(key);
  });
});

/** Lets nobody create an anchor, until that is removed. */
async function refuseAnchors({ admin }: Cluster): Promise<{ end(): Promise<void> }> {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const metadata = { name: "no-anchors" };
  const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };
  const spec = {
    matchConstraints: { resourceRules: [{ ...rule, operations: ["CREATE"] }] },
    validations: [{ expression: "!object.metadata.name.endsWith('-root-owner')" }],
  };
  const policy = { apiVersion, kind: "ValidatingAdmissionPolicy", metadata };
  const binding = { apiVersion, kind: "ValidatingAdmissionPolicyBinding", metadata };
  await admin.create({ ...policy, spec });
  await admin.create({
    ...binding,
    spec: { policyName: metadata.name, validationActions: ["Deny"] },
  });
  const probe = { apiVersion: "v1", kind: "ConfigMap" };
  const at = { namespace: "default", name: "probe-root-owner" };
  const isRefused = async (): Promise<boolean> => {
    try {
      await admin.create({ ...probe, metadata: at });
      await admin.remove({ ...probe, ...at });
      return false;
    } catch {
      return true;
    }
  };
  await waitFor("anchors to be refused", isRefused, patience);
  const end = async (): Promise<void> => {
    await admin.remove(keyOf(binding));
    await admin.remove(keyOf(policy));
    await waitFor("anchors to be taken", async () => !(await isRefused()), patience);
  };
  return { end };
}
