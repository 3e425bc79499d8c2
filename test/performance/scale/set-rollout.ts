import { clusterProfileApiVersion } from "../../../api/cluster-profile.ts";
import { fleetSetApiVersion, fleetSetKinds, setFieldManager } from "../../../api/fleet-set.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import type { AuditedRequest } from "../../fleet/audit-log.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { profileNamespace } from "../../simulator/publish.ts";
import { type Experiment, measured } from "./measured.ts";
import {
  type ControlledFleet,
  hubRequests,
  readComponents,
  removeAll,
  type ScaleFleet,
  until,
} from "./scale-fleet.ts";

const kind = "KnativeEventingSet";
const type = { apiVersion: fleetSetApiVersion, kind } as const;
const metadata = { namespace: "platform", name: "eventing" } as const;
const key = { ...type, ...metadata };

/** g: a set installs Eventing on all spokes, and is measured while it upgrades them in three stages. Whatever was installed before goes, and so does the set. */
export async function upgradeBySet(
  controlled: ControlledFleet,
  say: (line: string) => void,
): Promise<Experiment> {
  const { scale } = controlled;
  const { admin } = scale.fleet.hub;
  say("Scale g: removing everything");
  await removeAll(scale);
  say("Scale g: a set installs Eventing on all spokes");
  await labelStages(scale);
  const { namespace } = metadata;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await applySet(scale, "1.22");
  await completed(scale);
  say("Scale g: the set upgrades it in three stages");
  const since = new Date();
  let setStatusBytes = 0;
  const figures = await measured(controlled, async () => {
    await applySet(scale, "1.23");
    setStatusBytes = await completed(scale);
  });
  const requests = (await hubRequests(scale, since)).all;
  await admin.remove(key);
  await until("the set to be gone", async () => {
    return (await admin.get(key)) === undefined && (await readComponents(scale)).length === 0;
  });
  const writes = setWritesOf(requests);
  return {
    id: "g",
    title: `a set upgrades ${scale.spokes.length} components in three stages`,
    ...figures,
    setWrites: writes.stamps + writes.others,
    setStatusBytes,
    note: `${writes.stamps} stamps, ${writes.others} writes of the set, its status ${setStatusBytes} bytes`,
  };
}

/** A twentieth of the spokes is the canary, and a fifth comes early. */
async function labelStages({ fleet, spokes }: ScaleFleet): Promise<void> {
  const profile = { apiVersion: clusterProfileApiVersion, kind: "ClusterProfile" };
  const labelled = spokes.map(async ({ name }, position) => {
    const stage = stageAt(position);
    if (stage === undefined) return;
    const labels = { metadata: { labels: { stage } } };
    await fleet.hub.admin.patch({ ...profile, namespace: profileNamespace, name }, labels);
  });
  await Promise.all(labelled);
}

function stageAt(position: number): string | undefined {
  if (position % 20 === 0) return "canary";
  return position % 5 === 1 ? "early" : undefined;
}

async function applySet({ fleet }: ScaleFleet, version: string): Promise<void> {
  const spec = {
    clusters: { from: "Selector", selector: { namespaces: [profileNamespace] } },
    template: { spec: { version } },
    deletionPolicy: "Delete",
    rollout: {
      stages: [
        { name: "canary", selector: { matchLabels: { stage: "canary" } }, maxConcurrency: "100%" },
        { name: "early", selector: { matchLabels: { stage: "early" } }, maxConcurrency: "50%" },
        { name: "main", selector: {}, maxConcurrency: "25%" },
      ],
    },
  };
  await fleet.hub.admin.apply({ ...type, metadata, spec });
}

/** Waits until the set has rolled its spec out, and resolves with the most bytes that its status had. */
async function completed({ fleet }: ScaleFleet): Promise<number> {
  let bytes = 0;
  await until("the set to be complete", async () => {
    const set = await fleet.hub.admin.get(key);
    bytes = Math.max(bytes, Buffer.byteLength(JSON.stringify(set?.["status"] ?? null)));
    return isComplete(set);
  });
  return bytes;
}

function isComplete(set: KubeObject | undefined): boolean {
  const isObserved = valueAt(set, "status", "observedGeneration") === set?.metadata.generation;
  return isObserved && valueAt(set, "status", "rollout", "phase") === "Complete";
}

/** What the controller wrote for the decisions: components that it stamped, and the set itself with its revisions. */
function setWritesOf(requests: readonly AuditedRequest[]): {
  readonly stamps: number;
  readonly others: number;
} {
  const written = requests.filter(({ verb }) => verb !== "list" && verb !== "watch");
  const stamps = written.filter(({ uri }) => uri.includes(`fieldManager=${setFieldManager}`));
  const ofSet: readonly string[] = [fleetSetKinds[kind].plural, "controllerrevisions"];
  const others = written.filter(({ resource }) => ofSet.includes(resource));
  return { stamps: stamps.length, others: others.length };
}
