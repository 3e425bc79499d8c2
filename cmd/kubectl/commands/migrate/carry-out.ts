import { type KubeClient, objectRefOf } from "../../../../access/kube/kube-client.ts";
import type { Component } from "../../../../api/component.ts";
import { targetId } from "../../../../api/keys.ts";
import { knownResource } from "../../../../api/resources.ts";
import { UsageError } from "../../errors.ts";
import { type ReadOne, readEach, unreadErrors } from "../../spokes/read-clusters.ts";
import { fieldManager, giveBack, removeGuard } from "./give-back.ts";
import type { ControllerFact, LeftObject } from "./migration-facts.ts";
import { recordName, recordOf } from "./migration-record.ts";
import { migrationLabel, recordKey, type RecordPlace } from "./read-hub.ts";
import type { MigrationLook, MigrationReading } from "./read-migration.ts";
import type { StepId } from "./step.ts";
import { markedInstallations } from "./to-upstream.ts";

// Giving back writes some hundred objects of each component.
export const clusterMs = 120_000;

/** A look at the fleet, and the way to it. */
interface Run extends MigrationReading {
  readonly look: MigrationLook;
}

type Act = (run: Run, signal: AbortSignal) => Promise<void>;

const acts: Readonly<Partial<Record<StepId, Act>>> = {
  record: ({ look, access }, signal) => writeRecord(look, access.hub, signal),
  "stop-upstream": ({ look, access: { hub } }, signal) =>
    scale(look.facts.upstream.controllers, { hub, replicas: 0 }, signal),
  "stop-knfleet": ({ look, access: { hub } }, signal) =>
    scale(look.facts.knfleet.controllers, { hub, replicas: 0 }, signal),
  "install-knfleet": ({ look, access: { hub } }, signal) =>
    scale(look.facts.knfleet.controllers, { hub, replicas: 1 }, signal),
  "start-upstream": ({ look, access: { hub } }, signal) =>
    scale(look.facts.upstream.controllers, { hub, replicas: 1 }, signal),
  "remove-guard": (run, signal) => {
    const { facts, components: all } = run.look;
    const guarded = new Set(facts.clusters.filter(({ guards }) => guards > 0).map(({ id }) => id));
    const components = all.filter((component) => guarded.has(targetId(component)));
    const { hubId } = facts;
    const write: ReadOne<void> = ({ client }, late) => removeGuard(client, hubId, late);
    return onClusters({ ...run, components, write }, signal);
  },
  "give-back": giveAllBack,
  "remove-upstream": ({ look, access }, signal) => removeAll(look.facts.left, access.hub, signal),
  finish: ({ look, access }, signal) => removeRecord(look.recordPlace, access.hub, signal),
};

/** Carries out a step of this command. Every step may be carried out again. Throws the errors of KubeClient, and UsageError for clusters that failed. */
export async function carryOut(id: StepId, run: Run, signal: AbortSignal): Promise<void> {
  const act = acts[id];
  if (act === undefined) throw new Error(`${id} is no step of this command`);
  await act(run, signal);
}

const configMaps = knownResource("v1", "ConfigMap");

/** A record of the other direction is overwritten: that migration was given up. */
async function writeRecord(
  { facts, recordPlace: { namespace, found } }: MigrationLook,
  hub: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  const labels = { "app.kubernetes.io/part-of": "knfleet", [migrationLabel]: facts.direction };
  const data = { [recordKey]: JSON.stringify(recordOf(facts)) };
  if (found === undefined) {
    const metadata = { namespace, name: recordName, labels };
    const record = { apiVersion: "v1", kind: "ConfigMap", metadata, data };
    await hub.create({ resource: configMaps, namespace }, record, { fieldManager }, signal);
    return;
  }
  const { resourceVersion } = found.metadata;
  const ref = { resource: configMaps, namespace, name: recordName };
  const patch = { metadata: { resourceVersion, labels }, data };
  await hub.patch(ref, patch, { fieldManager, metadataOnly: true }, signal);
}

async function removeRecord(
  { namespace, found }: RecordPlace,
  hub: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  if (found === undefined) return;
  const ref = { resource: configMaps, namespace, name: recordName };
  await hub.remove(ref, { uid: found.metadata.uid }, signal);
}

const deployments = knownResource("apps/v1", "Deployment");

async function scale(
  controllers: readonly ControllerFact[],
  { hub, replicas }: { readonly hub: KubeClient; readonly replicas: number },
  signal: AbortSignal,
): Promise<void> {
  for (const { namespace, name, resourceVersion, wanted } of controllers) {
    if (wanted === replicas) continue;
    const ref = { resource: deployments, namespace, name };
    const patch = { metadata: { resourceVersion }, spec: { replicas } };
    await hub.patch(ref, patch, { fieldManager, metadataOnly: true }, signal);
  }
}

async function removeAll(
  left: readonly LeftObject[],
  hub: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  for (const { uid, ...key } of left) {
    if (key.kind === "CustomResourceDefinition") throw new Error("A migration deletes no CRD");
    const ref = objectRefOf(key, knownResource(key.apiVersion, key.kind));
    await hub.remove(ref, { uid, propagationPolicy: "Background" }, signal);
  }
}

async function giveAllBack(run: Run, signal: AbortSignal): Promise<void> {
  const marked = markedInstallations(run.look);
  const write: ReadOne<void> = async ({ id, client }, late) => {
    for (const { component, anchor } of marked) {
      if (targetId(component) === id) await giveBack({ component, anchor }, client, late);
    }
  };
  const components = marked.map(({ component }) => component);
  await onClusters({ ...run, components, write }, signal);
}

interface Writing extends MigrationReading {
  readonly components: readonly Component[];
  readonly write: ReadOne<void>;
}

/** Writes to every cluster of some components, several at a time. Throws UsageError with the clusters that failed, once the others are done. */
async function onClusters(
  { components, access, limits, write }: Writing,
  signal: AbortSignal,
): Promise<void> {
  const deps = { access, limits: { ...limits, spokeTimeoutMs: clusterMs }, read: write };
  const errors = unreadErrors(await readEach(components, deps, signal));
  signal.throwIfAborted();
  if (errors.length === 0) return;
  const lines = errors.map(({ cluster, message }) => `${cluster ?? "the hub"}: ${message}`);
  throw new UsageError(`Not every cluster could be written: ${lines.join("; ")}`, [
    "Run the command again: it goes on where it was.",
  ]);
}
