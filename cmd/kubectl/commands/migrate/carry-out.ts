import { type KubeClient, objectRefOf } from "../../../../access/kube/kube-client.ts";
import type { Component } from "../../../../api/component.ts";
import type { ObjectKey } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { UsageError } from "../../errors.ts";
import { clusterIdOf, type ReadOne, readEach, unreadErrors } from "../../spokes/read-clusters.ts";
import { fieldManager, giveBack, removeGuard } from "./give-back.ts";
import type { ControllerFact } from "./migration-facts.ts";
import { recordOf } from "./migration-record.ts";
import { migrationLabel, recordKey, recordName } from "./read-hub.ts";
import type { MigrationLook, MigrationReading } from "./read-migration.ts";
import type { StepId } from "./step.ts";
import { isOurs } from "./to-upstream.ts";

// Giving back writes some hundred objects of each component.
const clusterMs = 120_000;

/** A look at the fleet, and the way to it. */
interface Run extends MigrationReading {
  readonly look: MigrationLook;
}

type Act = (run: Run, signal: AbortSignal) => Promise<void>;

const acts: Readonly<Partial<Record<StepId, Act>>> = {
  record: ({ look, access }, signal) =>
    writeRecord(look.facts, { hub: access.hub, namespace: look.recordNamespace }, signal),
  "stop-upstream": ({ look, access: { hub } }, signal) =>
    scale(look.facts.upstream.controllers, { hub, replicas: 0 }, signal),
  "stop-knfleet": ({ look, access: { hub } }, signal) =>
    scale(look.facts.knfleet.controllers, { hub, replicas: 0 }, signal),
  "install-knfleet": ({ look, access: { hub } }, signal) =>
    scale(look.facts.knfleet.controllers.slice(0, 1), { hub, replicas: 1 }, signal),
  "start-upstream": ({ look, access: { hub } }, signal) =>
    scale(look.facts.upstream.controllers.slice(0, 1), { hub, replicas: 1 }, signal),
  "remove-guard": (run, signal) => {
    const { facts, components: all } = run.look;
    const guarded = new Set(facts.clusters.filter(({ guards }) => guards > 0).map(({ id }) => id));
    const components = all.filter((component) => guarded.has(clusterIdOf(component)));
    const write: ReadOne<void> = ({ client }, late) => removeGuard(client, facts.hubId, late);
    return onClusters({ ...run, components, write }, signal);
  },
  "give-back": giveAllBack,
  "remove-upstream": ({ look, access }, signal) => removeAll(look.facts.left, access.hub, signal),
  finish: ({ look, access }, signal) =>
    removeRecord({ hub: access.hub, namespace: look.recordNamespace }, signal),
};

/** Carries out a step of this command. Every step may be carried out again. Throws the errors of KubeClient, and UsageError for clusters that failed. */
export async function carryOut(id: StepId, run: Run, signal: AbortSignal): Promise<void> {
  const act = acts[id];
  if (act === undefined) throw new Error(`${id} is no step of this command`);
  await act(run, signal);
}

interface RecordPlace {
  readonly hub: KubeClient;
  readonly namespace: string;
}

const configMaps = knownResource("v1", "ConfigMap");

async function writeRecord(
  facts: MigrationLook["facts"],
  { hub, namespace }: RecordPlace,
  signal: AbortSignal,
): Promise<void> {
  const record = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      namespace,
      name: recordName,
      labels: { "app.kubernetes.io/part-of": "knfleet", [migrationLabel]: facts.direction },
    },
    data: { [recordKey]: JSON.stringify(recordOf(facts)) },
  };
  const ref = { resource: configMaps, namespace, name: recordName };
  await hub.apply(ref, record, { fieldManager, force: true, metadataOnly: true }, signal);
}

async function removeRecord({ hub, namespace }: RecordPlace, signal: AbortSignal): Promise<void> {
  await hub.remove({ resource: configMaps, namespace, name: recordName }, {}, signal);
}

const deployments = knownResource("apps/v1", "Deployment");

async function scale(
  controllers: readonly ControllerFact[],
  { hub, replicas }: { readonly hub: KubeClient; readonly replicas: number },
  signal: AbortSignal,
): Promise<void> {
  for (const { namespace, name, wanted } of controllers) {
    if (wanted === replicas) continue;
    const ref = { resource: deployments, namespace, name };
    await hub.patch(ref, { spec: { replicas } }, { fieldManager, metadataOnly: true }, signal);
  }
}

async function removeAll(
  keys: readonly ObjectKey[],
  hub: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  for (const key of keys) {
    if (key.kind === "CustomResourceDefinition") throw new Error("A migration deletes no CRD");
    const resource = knownResource(key.apiVersion, key.kind);
    await hub.remove(objectRefOf(key, resource), { propagationPolicy: "Background" }, signal);
  }
}

async function giveAllBack(run: Run, signal: AbortSignal): Promise<void> {
  const { facts, components } = run.look;
  const ours = facts.components.filter((component) => isOurs(component, facts.hubId));
  const anchors = new Map(ours.map(({ uid, anchor }) => [uid, anchor]));
  const own = components.filter(({ metadata }) => anchors.has(metadata.uid));
  const write: ReadOne<void> = async ({ id, client }, late) => {
    for (const component of own.filter((one) => clusterIdOf(one) === id)) {
      const anchor = anchors.get(component.metadata.uid) ?? null;
      if (anchor !== null) await giveBack({ component, anchor }, client, late);
    }
  };
  await onClusters({ ...run, components: own, write }, signal);
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
