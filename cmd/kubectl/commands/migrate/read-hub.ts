import { ApiError } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { componentKinds } from "../../../../api/component.ts";
import { recordAt, textAt } from "../../../../api/fields.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { builtInReleaseKinds } from "../../../../installation/kinds.ts";
import { type ControllerDeployment, listControllerDeployments } from "../../hub/find-controller.ts";
import { controllerLeasesIn, isHeldAt, listLeases } from "../../hub/replicas.ts";
import { numberAt } from "../../selection/fields.ts";
import { deploymentFactOf } from "../../spokes/spoke-facts.ts";
import type {
  ControllerFact,
  Direction,
  HelmRelease,
  MigrationFacts,
  OperatorFacts,
} from "./migration-facts.ts";
import { readRecord } from "./migration-record.ts";

/** Label of the ConfigMap with the state before a migration; its value is the direction. */
export const migrationLabel = "knfleet.dev/migration";

/** Name of that ConfigMap. */
export const recordName = "knfleet-migration";

/** Key of its text. */
export const recordKey = "before";

const configMaps = knownResource("v1", "ConfigMap");
const deployments = knownResource("apps/v1", "Deployment");

/** What is on the hub, apart from the components. */
interface HubState extends Pick<
  MigrationFacts,
  "upstream" | "knfleet" | "definitions" | "left" | "record"
> {
  /** The namespace of a record that is still to be written. */
  readonly recordNamespace: string;
}

interface HubReading {
  readonly hub: KubeClient;
  readonly direction: Direction;
  readonly namespace: string;
  readonly timeoutMs: number;
  readonly now: Date;
}

/** Reads who is at work on the hub, and what of upstream's operator is there. Throws the errors of KubeClient. */
export async function readHub(
  { hub, direction, namespace, timeoutMs, now }: HubReading,
  signal: AbortSignal,
): Promise<HubState> {
  const deadline = withTimeout(systemClock, timeoutMs, signal);
  const [found, leases, definitions, records] = await Promise.all([
    listControllerDeployments(hub, deadline),
    listLeases(hub, deadline),
    readDefinitions(hub, deadline),
    hub.list({ resource: configMaps, labelSelector: migrationLabel }, {}, deadline),
  ]);
  const nowMs = now.getTime();
  const held = controllerLeasesIn(leases).filter((lease) => isHeldAt(lease, nowMs));
  const upstream = operatorOf(found, "upstream", upstreamHolders(leases, nowMs));
  const knfleet = operatorOf(
    found,
    "knfleet",
    held.map(({ holder }) => holder),
  );
  const record = records.items.find(({ metadata }) => metadata.name === recordName);
  const first = upstream.controllers[0] ?? knfleet.controllers[0];
  return {
    upstream,
    knfleet,
    definitions,
    left: direction === "from-upstream" ? await readLeft(upstream, hub, deadline) : [],
    record: readRecord(textAt(recordAt(record, "data"), recordKey) ?? "", direction),
    recordNamespace: record?.metadata.namespace ?? first?.namespace ?? namespace,
  };
}

function operatorOf(
  found: readonly ControllerDeployment[],
  flavour: ControllerDeployment["flavour"],
  holders: readonly string[],
): OperatorFacts {
  const own = found.filter((one) => one.flavour === flavour);
  return { controllers: own.map(controllerFactOf), holders: [...new Set(holders)] };
}

function controllerFactOf({ object, namespace, name, wanted, available }: ControllerDeployment) {
  const fact: ControllerFact = {
    namespace,
    name,
    wanted,
    available,
    running: numberAt(object, "status", "replicas") ?? 0,
    version: deploymentFactOf(object).version,
    release: releaseOf(object),
  };
  return fact;
}

/** The Helm release that owns an object; null: none. */
function releaseOf({ metadata: { annotations = {} } }: KubeObject): HelmRelease | null {
  const name = annotations["meta.helm.sh/release-name"];
  const namespace = annotations["meta.helm.sh/release-namespace"];
  return name === undefined || namespace === undefined ? null : { name, namespace };
}

/** Knative names a Lease after the package of its reconciler. */
function upstreamHolders(found: readonly KubeObject[], nowMs: number): readonly string[] {
  return found.flatMap((lease) => {
    if (!/knative\.dev\.operator\.pkg\.reconciler\./.test(lease.metadata.name)) return [];
    const spec = recordAt(lease, "spec");
    const holder = textAt(spec, "holderIdentity") ?? "";
    const renewed = Date.parse(textAt(spec, "renewTime") ?? "");
    const seconds = numberAt(spec, "leaseDurationSeconds") ?? 60;
    return holder !== "" && renewed + seconds * 1_000 > nowMs ? [holder] : [];
  });
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

/** Upstream's Deployments, what else is of its Helm release, and Helm's record of that. CRDs are never among them. */
async function readLeft(
  { controllers }: OperatorFacts,
  hub: KubeClient,
  signal: AbortSignal,
): Promise<readonly ObjectKey[]> {
  const places = [...new Set(controllers.map(({ namespace }) => namespace))];
  const own = controllers.map(({ namespace, name }) => ({ ...deploymentKind, namespace, name }));
  const webhooks = await Promise.all(
    places.map((namespace) =>
      hub.get(
        { resource: deployments, namespace, name: "operator-webhook" },
        { metadataOnly: true },
        signal,
      ),
    ),
  );
  const releases = controllers.flatMap(({ release }) => release ?? []);
  const made = await Promise.all(releases.map((release) => readRelease(release, hub, signal)));
  const all = [
    ...made.flat(),
    ...webhooks.flatMap((webhook) =>
      webhook === undefined ? [] : [keyOf({ ...webhook, ...deploymentKind })],
    ),
    // The Deployment names the release, so it goes last: a removal that was interrupted still knows what is left.
    ...own,
  ];
  return [
    ...new Map(all.toReversed().map((key) => [JSON.stringify(key), key])).values(),
  ].toReversed();
}

const deploymentKind = { apiVersion: "apps/v1", kind: "Deployment" };

async function readRelease(
  { namespace, name }: HelmRelease,
  hub: KubeClient,
  signal: AbortSignal,
): Promise<readonly ObjectKey[]> {
  const lists = builtInReleaseKinds.map(async (resource) => {
    const place = resource.namespaced ? { namespace } : {};
    const ref = { resource, ...place, labelSelector: "app.kubernetes.io/managed-by=Helm" };
    const { items } = await listed(hub.list(ref, { metadataOnly: true }, signal));
    const { apiVersion, kind } = resource;
    return items
      .filter((object) => isOfRelease(object, { namespace, name }))
      .map((object) => keyOf({ ...object, apiVersion, kind }));
  });
  const secrets = knownResource("v1", "Secret");
  const helms = hub.list(
    { resource: secrets, namespace, labelSelector: `owner=helm,name=${name}` },
    { metadataOnly: true },
    signal,
  );
  const records = (await listed(helms)).items.map(({ metadata }) => ({
    apiVersion: "v1",
    kind: "Secret",
    namespace,
    name: metadata.name,
  }));
  // Helm's record goes first: no command of Helm can uninstall the release from then on, and the CRDs with it.
  return [...records, ...(await Promise.all(lists)).flat()];
}

function isOfRelease(object: KubeObject, release: HelmRelease): boolean {
  const found = releaseOf(object);
  const isKept = object.metadata.annotations?.["helm.sh/resource-policy"] === "keep";
  return found?.name === release.name && found.namespace === release.namespace && !isKept;
}

/** A kind that the hub does not serve has no objects. */
async function listed(list: ReturnType<KubeClient["list"]>): ReturnType<KubeClient["list"]> {
  try {
    return await list;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) {
      return { items: [], resourceVersion: "" };
    }
    throw error;
  }
}
