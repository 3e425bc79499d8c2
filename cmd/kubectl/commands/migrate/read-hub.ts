import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { componentKinds } from "../../../../api/component.ts";
import { recordAt, textAt } from "../../../../api/fields.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import {
  type ControllerDeployment,
  listControllers,
  onlyController,
} from "../../hub/find-controller.ts";
import { listLeases } from "../../hub/replicas.ts";
import { numberAt } from "../../selection/fields.ts";
import { workloadFactOf } from "../../spokes/workload-fact.ts";
import { releaseOf } from "./helm-release.ts";
import { readLeaseHolders } from "./lease-holders.ts";
import type { ControllerFact, Direction, HelmRelease, MigrationFacts } from "./migration-facts.ts";
import { readRecord, recordName } from "./migration-record.ts";
import { readLeft, upstreamRelease } from "./read-left.ts";

/** Label of the ConfigMap with the state before a migration; its value is the direction. */
export const migrationLabel = "knfleet.dev/migration";

/** Key of its text. */
export const recordKey = "before";

const configMaps = knownResource("v1", "ConfigMap");

/** What is on the hub, apart from the components. */
interface HubState extends Pick<
  MigrationFacts,
  "upstream" | "knfleet" | "definitions" | "left" | "record" | "remarks"
> {
  readonly recordPlace: RecordPlace;
}

/** Where the record of a migration is, or is to be written. */
export interface RecordPlace {
  readonly namespace: string;
  /** Undefined: there is none. */
  readonly found: KubeObject | undefined;
}

interface HubReading {
  readonly hub: KubeClient;
  readonly direction: Direction;
  readonly timeoutMs: number;
  readonly now: Date;
}

/** Reads who is at work on the hub, and what of upstream's operator is there. Throws the errors of KubeClient, and UsageError where it cannot be told whose something is. */
export async function readHub(
  { hub, direction, timeoutMs, now }: HubReading,
  signal: AbortSignal,
): Promise<HubState> {
  const deadline = withTimeout(systemClock, timeoutMs, signal);
  const [{ deployments, bindings }, leases, definitions, records] = await Promise.all([
    listControllers(hub, deadline),
    listLeases(hub, deadline),
    readDefinitions(hub, deadline),
    hub.list({ resource: configMaps, labelSelector: migrationLabel }, {}, deadline),
  ]);
  const found = { leases, bindings, nowMs: now.getTime() };
  const { remarks, ...holders } = await readLeaseHolders(found, hub, deadline);
  const operator = onlyController(deployments, "upstream");
  const ours = onlyController(deployments, "knfleet");
  const recordPlace = placeOfRecord(records.items, [operator, ours]);
  const record = recordPlace.found;
  const isGoing = direction === "from-upstream";
  return {
    upstream: {
      controllers:
        operator === undefined ? [] : [controllerFactOf(operator, upstreamRelease(bindings))],
      holders: holders.upstream,
    },
    knfleet: {
      controllers: ours === undefined ? [] : [controllerFactOf(ours, releaseOf(ours.object))],
      holders: holders.knfleet,
    },
    definitions,
    left: isGoing ? await readLeft({ hub, operator, bindings, record }, deadline) : [],
    record: readRecord(textAt(recordAt(record, "data"), recordKey) ?? "", direction),
    recordPlace,
    remarks,
  };
}

/**
 * The record counts in the namespaces of the controllers, and where these run elsewhere in kube-system: everybody with a namespace of her own can make a
 * ConfigMap with its name and label.
 */
function placeOfRecord(
  records: readonly KubeObject[],
  controllers: readonly (ControllerDeployment | undefined)[],
): RecordPlace {
  const own = controllers.flatMap((controller) => controller?.namespace ?? []);
  const named = records.filter(({ metadata }) => metadata.name === recordName);
  const places = [...own, "kube-system"].map((namespace) => ({
    namespace,
    found: named.find(({ metadata }) => metadata.namespace === namespace),
  }));
  const [first = { namespace: "kube-system", found: undefined }] = places;
  return places.find(({ found }) => found !== undefined) ?? first;
}

function controllerFactOf(
  { object, namespace, name, wanted, available }: ControllerDeployment,
  release: HelmRelease | null,
): ControllerFact {
  return {
    namespace,
    name,
    resourceVersion: object.metadata.resourceVersion,
    wanted,
    available,
    running: numberAt(object, "status", "replicas") ?? 0,
    version: workloadFactOf(object).version,
    release,
  };
}

async function readDefinitions(
  hub: KubeClient,
  signal: AbortSignal,
): Promise<MigrationFacts["definitions"]> {
  const resource = knownResource("apiextensions.k8s.io/v1", "CustomResourceDefinition");
  const names = Object.values(componentKinds).map(({ plural }) => `${plural}.operator.knative.dev`);
  const found = await Promise.all(
    names.map((name) => hub.get({ resource, name }, { metadataOnly: true }, signal)),
  );
  return found.flatMap((object) =>
    object === undefined ? [] : [{ name: object.metadata.name, release: releaseOf(object) }],
  );
}
