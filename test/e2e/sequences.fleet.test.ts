// @module-tag release-files
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { assert, asyncProperty } from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { ComponentKind } from "../../api/component.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { certificateDefinition, ingressStandIns } from "../controller/hand-made-installation.ts";
import { createAuthority } from "../fleet/certificates.ts";
import type { Cluster, Profile } from "../fleet/fleet.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { portOf } from "../fleet/ports.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";
import { isWhole, runsOf, seed } from "../support/fuzz.ts";
import { differencesOf, dumpOfComponent, type SpokeDump } from "../support/spoke-dump.ts";
import { componentOf, gone, read, remove } from "./installation.ts";
import { releaseDir } from "./release-dir.ts";
import { type Spec, type Step, type Walk, walkOf } from "./spec-arbitraries.ts";

/** Runs for each kind: a run takes about 20 s. */
const runs = runsOf(4);
const kinds: readonly ComponentKind[] = ["KnativeServing", "KnativeEventing"];
/** One of them, which follows from the seed, and both when all runs are tried. */
const triedKinds = kinds.filter((_, index) => isWhole || index === seed % kinds.length);

const fleet = useFleet({ spokes: 2 });
const stack = new AsyncDisposableStack();
const files: Readonly<Record<string, string>> = {
  "/roles.yaml": `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: of-a-user}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`,
  "/settings.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: of-a-user}
data: {a: b}
---
apiVersion: v1
kind: Service
metadata: {name: of-a-user}
spec: {ports: [{port: 80}], selector: {app: of-a-user}}
`,
};

let urls: readonly string[];
let profiles: readonly Profile[];
let controller: ControllerProcess;
let start: () => Promise<ControllerProcess>;

beforeAll(async () => {
  const server = await serveFiles();
  urls = Object.keys(files).map((path) => `${server.origin}${path}`);
  const spokes = fleet().spokes;
  profiles = await Promise.all(
    spokes.map((spoke) => fleet().addProfile(spoke, { plugin: "secretreader" })),
  );
  await Promise.all(spokes.map(standIn));
  const kubeconfig = await fleet().controllerKubeconfig();
  const providerFile = await fleet().providerFile();
  const releases = await releaseDir();
  start = () =>
    startControllerProcess({
      kubeconfig,
      providerFile,
      releaseDir: releases,
      flags: [`--manifest-source=${server.origin}/`],
      environment: { NODE_EXTRA_CA_CERTS: server.caFile },
    });
  controller = await start();
  stack.defer(() => controller[Symbol.asyncDispose]());
}, 600_000);

afterAll(async () => stack.disposeAsync());

// More than 15 s: a component is changed step by step, removed, and installed anew on another cluster; KNFLEET_FUZZ_SHARE says how often. KNFLEET_SEED says with which kind.
test.each(triedKinds)(
  `every way through specs of %s ends as a fresh install of the last one does (KNFLEET_SEED=${seed}, ${runs} of them)`,
  async (kind) => {
    const { hub } = fleet();
    const [spoke, clean] = fleet().spokes;
    if (spoke === undefined || clean === undefined) throw new Error("Two spokes are needed");
    const walks = asyncProperty(walkOf(kind, urls), async (walk) => {
      console.error(`${kind}, seed ${seed}: ${JSON.stringify(walk)}`);
      const walked = await walkThrough(kind, walk);
      await removeFrom(spoke, kind);
      await withoutDefinitions(clean);
      await apply(kind, walk.last, profiles[1]);
      const fresh = await dumpOfComponent(clean, (await settled(hub, kind)).metadata.uid);
      await removeFrom(clean, kind);
      expect(differencesOf(walked, fresh)).toEqual([]);
      expect(Object.keys(fresh).length).toBeGreaterThan(60);
    });
    await assert(walks, { seed, numRuns: runs, endOnFailure: true });
  },
  120_000 + runs * 600_000,
);

/** Takes a component through all specs on the first spoke and returns what is there in the end. */
async function walkThrough(kind: ComponentKind, { steps, last }: Walk): Promise<SpokeDump> {
  const { hub } = fleet();
  const [spoke] = fleet().spokes;
  if (spoke === undefined) throw new Error("There is no spoke");
  for (const { spec, next } of steps) {
    await apply(kind, spec, profiles[0]);
    await continued(kind, next);
  }
  await apply(kind, last, profiles[0]);
  const { metadata } = await settled(hub, kind);
  return dumpOfComponent(spoke, metadata.uid);
}

async function continued(kind: ComponentKind, next: Step["next"]): Promise<void> {
  switch (next) {
    case "wait until ready":
      await settled(fleet().hub, kind);
      return;
    case "go on at once":
      return;
    case "go on in the middle":
      await delay(400);
      return;
    case "kill the controller":
      await delay(400);
      await controller.kill();
      controller = await start();
  }
}

/** Stores exactly this spec, as `kubectl apply` does. */
async function apply(kind: ComponentKind, spec: Spec, profile: Profile | undefined): Promise<void> {
  const { hub } = fleet();
  if (profile === undefined) throw new Error("There is no ClusterProfile");
  const component = componentOf({ kind, on: profile });
  const { namespace = "" } = component.metadata;
  await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const { clusterProfileRef } = {
    clusterProfileRef: valueAt(component, "spec", "clusterProfileRef"),
  };
  await hub.admin.apply({ ...component, spec: { ...spec, clusterProfileRef } });
}

/** Waits until what is stored is installed and ready. */
async function settled(hub: Cluster, kind: ComponentKind): Promise<KubeObject> {
  let last: KubeObject | undefined;
  try {
    return await waitFor(
      `${kind} to be settled`,
      async () => {
        last = await read(hub, kind);
        const minor = valueAt(last, "spec", "version");
        const isSettled =
          conditionOf(last, "Ready")?.status === "True" &&
          valueAt(last, "status", "observedGeneration") === last?.metadata.generation &&
          String(valueAt(last, "status", "version")).startsWith(`${String(minor)}.`);
        return isSettled && last;
      },
      { timeoutMs: 180_000 },
    );
  } catch (error) {
    throw new Error(`Status was ${JSON.stringify(valueAt(last, "status"))}`, { cause: error });
  }
}

async function removeFrom(cluster: Cluster, kind: ComponentKind): Promise<void> {
  const { hub } = fleet();
  const uid = (await read(hub, kind))?.metadata.uid ?? "";
  await remove(hub, kind);
  await gone(hub, kind, 120_000);
  expect(await dumpOfComponent(cluster, uid)).toEqual({});
}

async function standIn({ admin }: Cluster): Promise<void> {
  const stands = [...ingressStandIns, certificateDefinition];
  await Promise.all(stands.map((manifest) => admin.apply(manifest)));
}

/** Takes away the CRDs that an earlier installation left behind on purpose. */
async function withoutDefinitions({ admin }: Cluster): Promise<void> {
  const [apiVersion, kind] = ["apiextensions.k8s.io/v1", "CustomResourceDefinition"];
  const left = async () =>
    (await admin.list({ apiVersion, kind })).filter(({ metadata }) =>
      /knative|rabbitmq|eventing/.test(metadata.name),
    );
  for (const { metadata } of await left()) {
    await admin.remove({ apiVersion, kind, name: metadata.name });
  }
  // A CRD goes after its objects, whose end the API server waits for in steps of five seconds.
  let last: readonly KubeObject[] = [];
  const areGone = async () => {
    last = await left();
    return last.length === 0;
  };
  await waitFor("the CRDs to be gone", areGone, { timeoutMs: 180_000 }).catch((cause: unknown) => {
    const facts = last.map(({ metadata, status }) => ({ name: metadata.name, status }));
    throw new Error(`These CRDs are left: ${JSON.stringify(facts)}`, { cause });
  });
}

async function serveFiles(): Promise<{ readonly origin: string; readonly caFile: string }> {
  const dir = await mkdtemp(join(tmpdir(), "knfleet-sequences-"));
  stack.defer(() => rm(dir, { recursive: true }));
  const authority = createAuthority("files");
  const identity = authority.issue({ commonName: "files", usage: "server", hosts: ["127.0.0.1"] });
  const caFile = join(dir, "ca.pem");
  await writeFile(caFile, authority.certificatePem);
  const server = createServer(
    { cert: identity.certificatePem, key: identity.keyPem },
    (asked, answer) => answer.end(files[asked.url ?? ""]),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  stack.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `https://127.0.0.1:${portOf(server.address())}`, caFile };
}
