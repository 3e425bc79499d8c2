// @module-tag release-files
import { join } from "node:path";

import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

import { type ComponentKind, componentKinds } from "../../api/component.ts";
import { agentWorkName } from "../../api/delivery.ts";
import { keyOf, type KubeObject } from "../../api/kubernetes.ts";
import { agentNamespace } from "../../controller/pull/agent.ts";
import { anchorNameOf } from "../../installation/anchor.ts";
import { type Ran, runKnfleet } from "../cmd/kubectl/run-knfleet.ts";
import { applyFile } from "../fleet/hub-access.ts";
import { valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";
import { replicaKubeconfig } from "./built-in-access.ts";
import {
  change,
  create,
  gone,
  inventoryOf,
  leftovers,
  observed,
  ready,
  remove,
} from "./installation.ts";
import { playAgent, pullFlags, usePullScene } from "./pull-scene.ts";
import { releaseDir } from "./release-dir.ts";
import { guardWritesTo, writesTo } from "./requests.ts";
import { childrenOf, phase, removeSet, setKey, setNamespace, setOf } from "./set-scene.ts";
import { versionTemplate } from "./set-scene.ts";

// The main ways on Knative's own files that no other file with the tag goes: an installation, a set, a cluster that pulls, shards, and the commands that
// compare. What each of them is in full, its own file shows on the sample release.
const scene = usePullScene();
const stack = new AsyncDisposableStack();
const docs = join(import.meta.dirname, "../../docs");
const kind = "KnativeServing";
const kinds: readonly ComponentKind[] = ["KnativeServing", "KnativeEventing"];

const replicas: ControllerProcess[] = [];
let releases: string;
let before: ReadonlySet<string>;

beforeAll(async () => {
  const { fleet, hub, spoke } = scene();
  releases = await releaseDir();
  await fleet.controllerKubeconfig();
  for (const name of ["pull-role.yaml", "sets-role.yaml"]) await applyFile(hub, join(docs, name));
  await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: setNamespace } });
  before = await inventoryOf(spoke);
  const options = {
    kubeconfig: await replicaKubeconfig(hub, { name: "knfleet-controller" }),
    providerFile: await fleet.providerFile(),
    releaseDir: releases,
    leaderElection: true,
    flags: ["--shards=2", "--sets", "--delivery=Auto", ...pullFlags],
  };
  for (let count = 0; count < 2; count += 1) {
    replicas.push(stack.use(await startControllerProcess(options)));
  }
  await waitFor("each replica to have one of the two shards", sharedFairly);
}, 600_000);

afterAll(() => stack.disposeAsync());

async function sharedFairly(): Promise<boolean> {
  const held = await Promise.all(replicas.map(shardsOf));
  return held.every((shards) => shards === "1");
}

/** How many shards a replica says that it serves. */
async function shardsOf(replica: ControllerProcess): Promise<string | undefined> {
  return /^knfleet_shards_held (\d+)$/m.exec(await replica.metrics())?.[1];
}

/** The replicas that installed a component. */
function installers(uid: string): readonly ControllerProcess[] {
  return replicas.filter((one) => one.logLines({ msg: "Applied manifests", uid }).length > 0);
}

function deploymentsIn(namespace: string): Promise<readonly KubeObject[]> {
  return scene().spoke.admin.list({ apiVersion: "apps/v1", kind: "Deployment", namespace });
}

/** Removes a component that a test has created, also after a failure. */
async function removed(one: ComponentKind): Promise<void> {
  await remove(scene().hub, one);
  await gone(scene().hub, one);
}

/** Runs the plugin on the hub, with Knative's files. */
async function knfleet(...args: readonly string[]): Promise<Ran> {
  const { fleet, hub } = scene();
  const env = {
    KUBECONFIG: hub.adminKubeconfigPath,
    KNFLEET_PROVIDER_FILE: await fleet.providerFile(),
  };
  // A busy machine answers late.
  return runKnfleet([...args, "--release-dir", releases, "--spoke-timeout", "60s"], { env });
}

// More than 15 s: two releases of Knative, hundreds of objects each, are brought to a cluster by way of works, and go again.
test("a set that replicas share brings a release to a cluster that pulls, and the next one, and takes it away", async () => {
  const { hub, spoke } = scene();
  await using undo = new AsyncDisposableStack();
  undo.defer(() => removeSet(hub, "walk"));
  await hub.admin.create(setOf("walk", {}));
  const pod = { namespace: agentNamespace, name: agentWorkName, releaseDir: releases };
  const local = undo.use(await playAgent(spoke, pod));
  // While the controller of the spoke is there to remove what it installed.
  undo.defer(() => removeSet(hub, "walk"));
  for (const version of ["1.22", "1.23"]) {
    await hub.admin.patch(setKey("walk"), { spec: versionTemplate(version) });
    const complete = await phase(hub, "walk", "Complete");
    expect(valueAt(complete, "status", "clusters")).toMatchObject({ selected: 1, done: 1 });
    const [child] = (await childrenOf(hub, "walk")).values();
    expect(valueAt(child, "status", "version")).toMatch(
      new RegExp(`^${RegExp.escape(version)}\\.`),
    );
  }
  await removeSet(hub, "walk");
  const works = { apiVersion: "work.open-cluster-management.io/v1", kind: "ManifestWork" };
  await waitFor("all works to go", async () => (await hub.admin.list(works)).length === 0);
  await local.stop();
  expect(await leftovers(spoke, before)).toEqual([`|Namespace||${agentNamespace}`]);
}, 600_000);

test("two components are installed by the one replica that has the shard of their cluster, with one write an object, none for the same release again, are repaired, and go without a trace", async () => {
  const { fleet, hub, spoke } = scene();
  const on = await fleet.addProfile(spoke, { plugin: "secretreader", name: "direct" });
  const clean = await inventoryOf(spoke);
  const uids: string[] = [];
  for (const one of kinds) {
    onTestFinished(() => removed(one));
    const since = new Date();
    const { uid } = (await create(hub, { kind: one, on })).metadata;
    await ready(hub, one);
    uids.push(uid);
    const { label } = componentKinds[one];
    const anchor = anchorNameOf({ kind: one, name: label });
    const written = (await writesTo(spoke, since)).filter(({ code }) => code < 300);
    const ids = written.map((request) =>
      [request.resource, request.namespace, request.name].join("/"),
    );
    const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
    // The intent before the first write and the record of completion after the last one.
    expect(twice).toEqual([`configmaps/${label}/${anchor}`]);
    expect(ids.length).toBeGreaterThan(70);
    // The same release under another name: a new generation that changes no object.
    const again = new Date();
    await change(hub, one, { version: valueAt(await ready(hub, one), "status", "version") });
    await observed(hub, one);
    await ready(hub, one);
    const rewritten = [...(await writesTo(spoke, again)), ...(await guardWritesTo(spoke, again))];
    expect(rewritten.map(({ verb, uri }) => `${verb} ${uri}`)).toEqual([]);
    const [deployment] = await deploymentsIn(label);
    if (deployment === undefined) throw new Error(`${one} has no Deployment`);
    await spoke.admin.remove(keyOf(deployment));
    await waitFor("the Deployment to be made again", async () => {
      const found = await spoke.admin.get(keyOf(deployment));
      return found !== undefined && found.metadata.uid !== deployment.metadata.uid;
    });
    await ready(hub, one);
  }
  const [first = "", second = ""] = uids;
  expect(installers(first)).toHaveLength(1);
  expect(installers(second)).toEqual(installers(first));
  await Promise.all(kinds.map(removed));
  expect(await leftovers(spoke, clean)).toEqual([]);
}, 600_000);

test("what a cluster has is compared with the files: diff, plan and can-i", async () => {
  const { fleet, hub, spoke } = scene();
  const on = await fleet.addProfile(spoke, { plugin: "secretreader", name: "direct" });
  const clean = await inventoryOf(spoke);
  onTestFinished(() => removed(kind));
  await create(hub, { kind, on, spec: { version: "1.22" } });
  await ready(hub, kind);
  const target = ["ks/knative-serving", "-n", "knative-serving"];
  const diff = await knfleet("diff", ...target);
  expect(diff).toMatchObject({ exitCode: 0, stdout: "" });
  expect(diff.stderr).toMatch(/^7\d objects of 1 installation, .*: no difference\.$/m);
  const plan = await knfleet("plan", ...target, "--version", "1.23", "-o", "json");
  expect(valueAt(JSON.parse(plan.stdout), "items", 0)).toMatchObject({
    blocked: null,
    version: { installed: "1.22.1", wanted: "1.23.0" },
  });
  const rights = await knfleet("can-i", "fleet/direct", "--version", "1.23");
  expect(rights.exitCode).toBe(0);
  expect(rights.stderr).toMatch(/ has all \d+ rights for KnativeServing 1\.23\.0/);
  await removed(kind);
  expect(await leftovers(spoke, clean)).toEqual([]);
}, 600_000);
