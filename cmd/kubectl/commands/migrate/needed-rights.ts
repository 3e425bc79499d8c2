import { type Right, rightTexts, rightTo } from "../../../../access/kube/missing-right.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { targetId } from "../../../../api/keys.ts";
import { knownResource } from "../../../../api/resources.ts";
import { UsageError } from "../../errors.ts";
import {
  distinctRights,
  lackText,
  missingRights,
  rightsToDelete,
} from "../../rights/missing-rights.ts";
import { readEach, unreadErrors } from "../../spokes/read-clusters.ts";
import { clusterMs } from "./carry-out.ts";
import { rightsToGiveBack } from "./give-back.ts";
import { guardObjects } from "./guard-objects.ts";
import { type ControllerFact, clusterName, type MigrationFacts } from "./migration-facts.ts";
import type { MigrationPlan } from "./migration-plan.ts";
import type { MigrationLook, MigrationReading } from "./read-migration.ts";
import type { StepId } from "./step.ts";
import { markedInstallations } from "./to-upstream.ts";

interface Coming extends MigrationReading {
  readonly look: MigrationLook;
  readonly plan: MigrationPlan;
}

/**
 * Asks for the rights that the rest of a migration needs, on the hub and on every cluster that it writes to. Throws UsageError with all that are missing, and the
 * errors of KubeClient.
 */
export async function checkRights(coming: Coming, signal: AbortSignal): Promise<void> {
  const { hub, hubTimeoutMs } = coming.access;
  const late = withTimeout(systemClock, hubTimeoutMs, signal);
  const missing = await missingRights(hubRights(coming), hub, late);
  const onClusters = await missingOnClusters(coming, signal);
  const onHub = rightTexts([...missing, ...(onClusters.get("") ?? [])]);
  const onSpokes = [...onClusters].filter(([id]) => id !== "");
  const lacks = [
    ...(onHub.length === 0 ? [] : [lackText("the hub", onHub)]),
    ...onSpokes.map(([id, rights]) => lackText(`cluster ${id}`, rightTexts(rights))),
  ];
  if (lacks.length === 0) return;
  throw new UsageError(lacks.join("; "), [
    ...(onHub.length === 0 ? [] : ["Use a context of an administrator of the hub with --context."]),
    ...(onSpokes.length > 0
      ? ["Give the identity of the hub on the cluster the rights of docs/spoke-role.yaml."]
      : []),
  ]);
}

/** The rights for the steps of this command on the hub that are not done. */
function hubRights({ look: { facts, recordPlace }, plan }: Coming): readonly Right[] {
  const { upstream, knfleet, left } = facts;
  const record = knownResource("v1", "ConfigMap");
  const { namespace, found } = recordPlace;
  const rights: Partial<Record<StepId, readonly Right[]>> = {
    record: [rightTo(found === undefined ? "create" : "patch", record, namespace)],
    "stop-upstream": rightsToScale(upstream.controllers, 0),
    "stop-knfleet": rightsToScale(knfleet.controllers, 0),
    "install-knfleet": rightsToScale(knfleet.controllers, 1),
    "start-upstream": rightsToScale(upstream.controllers, 1),
    "remove-upstream": rightsToDelete(left),
    finish: [rightTo("delete", record, namespace)],
  };
  const open = plan.items.filter(({ state }) => state !== "Done");
  return distinctRights(open.flatMap(({ id }) => rights[id] ?? []));
}

function rightsToScale(controllers: readonly ControllerFact[], replicas: number): readonly Right[] {
  const resource = knownResource("apps/v1", "Deployment");
  return controllers
    .filter(({ wanted }) => wanted !== replicas)
    .map(({ namespace, name }) => ({ ...rightTo("patch", resource, namespace), name }));
}

/** The missing rights by cluster. Only the way back writes to clusters. */
async function missingOnClusters(
  { direction, access, limits, look: { facts, components } }: Coming,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly Right[]>> {
  if (direction === "from-upstream") return new Map();
  // A cluster that was left out is not written to.
  const wereRead = new Set(facts.clusters.map(({ id }) => id));
  const own = components.filter((component) => wereRead.has(targetId(component)));
  const readings = await readEach(
    own,
    {
      access,
      limits: { ...limits, spokeTimeoutMs: clusterMs },
      read: async ({ id, client }, late) => {
        const rights = await clusterRights({ id, facts, client, components: own }, late);
        return missingRights(rights, client, late);
      },
    },
    signal,
  );
  signal.throwIfAborted();
  const errors = unreadErrors(readings);
  if (errors.length > 0) {
    const lines = errors.map(({ cluster, message }) => `${clusterName(cluster ?? "")}: ${message}`);
    throw new UsageError(`Not every cluster could be asked for your rights: ${lines.join("; ")}`);
  }
  const read = [...readings].flatMap(([id, reading]) =>
    reading.kind === "read" && reading.facts.length > 0 ? [[id, reading.facts] as const] : [],
  );
  return new Map(read);
}

interface ClusterQuestion {
  readonly id: string;
  readonly facts: MigrationFacts;
  readonly components: MigrationLook["components"];
  readonly client: Parameters<typeof rightsToGiveBack>[1];
}

/** The rights to take the guard and the marks of this hub off a cluster. */
async function clusterRights(
  { id, facts, components, client }: ClusterQuestion,
  signal: AbortSignal,
): Promise<readonly Right[]> {
  const guards = await guardObjects(client, facts.hubId, signal);
  const here = markedInstallations({ facts, components }).filter(
    ({ component }) => targetId(component) === id,
  );
  const marks = await Promise.all(here.map((one) => rightsToGiveBack(one, client, signal)));
  return distinctRights([
    ...guards.map(({ ref, label }) => ({
      ...rightTo(label === undefined ? "delete" : "patch", ref.resource),
      name: ref.name,
    })),
    ...marks.flat(),
  ]);
}
