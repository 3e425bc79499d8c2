import type { ClusterProfile } from "../../api/cluster-profile.ts";
import { type Component, operatorApiVersion } from "../../api/component.ts";
import { timestampOf } from "../../api/conditions.ts";
import { type FleetSet, setAnnotations, setLabels } from "../../api/fleet-set.ts";
import type { Condition } from "../../api/kubernetes.ts";
import { DesiredSpecs, revisionNameOf } from "../../sets/desired-spec.ts";
import type { Revision, SetFacts } from "../../sets/facts.ts";
import { rolloutWith, SetWorld, stageOfRing } from "./set-world.ts";

/** The time at which large sets are decided on. */
export const largeNow = Date.parse("2026-11-25T12:00:00Z");

/** What differs from a usual large set. */
export interface LargeOptions {
  readonly stages?: number;
  readonly namespace?: string;
  /** Name of a cluster by its number. */
  readonly nameOf?: (at: number) => string;
  readonly stageNameOf?: (at: number) => string;
  readonly stageFields?: object;
  /** What the component of a failed cluster says. */
  readonly message?: string;
  /** Number of clusters, from the last one, that failed. */
  readonly failed?: number;
}

/**
 * A set in the middle of a rollout: overrides for four regions, a registry from the properties of each cluster, the first half of the clusters done,
 * a hundredth on its way, the rest at the revision before.
 */
export function largeFacts(count: number, options: LargeOptions = {}): SetFacts {
  const { stages = 4, namespace = "fleet", nameOf = (at) => `cluster-${at}` } = options;
  const { stageNameOf = (at) => `stage-${at}`, stageFields = { maxConcurrency: "10%" } } = options;
  const set = setWith(
    Array.from({ length: stages }, (_, at) => stageOfRing(stageNameOf(at), stageFields)),
  );
  const [old, update] = [revisionOf(set, "1.22.0", 1), revisionOf(set, "1.23.0", 2)];
  const size = Math.ceil(count / stages);
  const profiles = Array.from({ length: count }, (_, at) =>
    profileOf({ namespace, name: nameOf(at), ring: stageNameOf(Math.floor(at / size)), at }),
  );
  const specs = { old: new DesiredSpecs(old.content), update: new DesiredSpecs(update.content) };
  const children = profiles.map((profile, at) => {
    const isFailed = at >= count - (options.failed ?? 0);
    const isNew = isFailed || at < count / 2 + count / 100;
    const said = isFailed
      ? failedConditions(options.message ?? "No")
      : readyConditions(isNew && at >= count / 2 ? "False" : "True");
    const revision = isNew ? update : old;
    return childOf(profile, { revision, specs: isNew ? specs.update : specs.old, said });
  });
  return {
    set,
    revisions: [{ ...old, completedNumber: 1 }, update],
    selection: {
      kind: "clusters",
      clusters: profiles.map(({ metadata }) => ({ namespace, name: metadata.name })),
    },
    profiles: new Map(
      profiles.map((profile) => [`${namespace}/${profile.metadata.name}`, profile]),
    ),
    children,
    obstacles: new Map(),
  };
}

function setWith(stages: readonly ReturnType<typeof stageOfRing>[]): FleetSet {
  const { set } = new SetWorld({}, []);
  const regions = ["eu", "us", "asia", "africa"].map((name, at) => ({
    name,
    selector: { matchLabels: { region: name } },
    patch: { "high-availability": { replicas: at + 1 } },
  }));
  return {
    ...set,
    spec: {
      ...set.spec,
      template: { spec: specOf("1.23.0") },
      overrides: regions,
      rollout: rolloutWith({ stages, minReadySeconds: 60 }),
    },
  };
}

function specOf(version: string) {
  return {
    version,
    registry: { default: `$(cluster.properties[registry])/knative/\${NAME}` },
    config: { network: { "ingress-class": "kourier.ingress.networking.knative.dev" } },
    ingress: { kourier: { enabled: true } },
  };
}

function revisionOf(set: FleetSet, version: string, number: number): Revision {
  const { overrides } = set.spec;
  const template = { spec: specOf(version) };
  const name = revisionNameOf({ ...set, spec: { ...set.spec, template } });
  return { name, number, failed: false, content: { template, ...(overrides && { overrides }) } };
}

interface Place {
  readonly namespace: string;
  readonly name: string;
  readonly ring: string;
  readonly at: number;
}

function profileOf({ namespace, name, ring, at }: Place): ClusterProfile {
  const region = ["eu", "us", "asia", "africa"][at % 4] ?? "eu";
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: {
      namespace,
      name,
      uid: `uid-${at}`,
      resourceVersion: "1",
      labels: { ring, region, env: "prod" },
    },
    status: {
      conditions: [{ type: "ControlPlaneHealthy", status: "True" }],
      properties: [{ name: "registry", value: `registry-${at % 20}.example.com` }],
    },
  };
}

const since = timestampOf(new Date(largeNow - 300_000));

function readyConditions(status: "True" | "False"): readonly Condition[] {
  return [
    { type: "Ready", status, lastTransitionTime: since },
    { type: "TargetClusterResolved", status: "True", lastTransitionTime: since },
    { type: "DeploymentsAvailable", status, lastTransitionTime: since },
  ];
}

function failedConditions(message: string): readonly Condition[] {
  const said = { status: "False", message, lastTransitionTime: since } as const;
  const reason = "KubernetesVersionTooOld";
  return [
    { type: "Ready", ...said, reason },
    { type: "InstallSucceeded", ...said, reason },
  ];
}

interface Stamped {
  readonly revision: Revision;
  readonly specs: DesiredSpecs;
  readonly said: readonly Condition[];
}

function childOf(profile: ClusterProfile, { revision, specs, said }: Stamped): Component {
  const desired = specs.of(profile);
  if ("missing" in desired) throw new Error(`${profile.metadata.name} lacks ${desired.missing}`);
  const { namespace, name, labels } = profile.metadata;
  return {
    apiVersion: operatorApiVersion,
    kind: "KnativeServing",
    metadata: {
      name: `prod-${name}`,
      namespace: "fleet",
      uid: `child-${name}`,
      resourceVersion: "1",
      generation: 2,
      labels: {
        [setLabels.set]: "prod",
        [setLabels.revision]: revision.name,
        [setLabels.stage]: labels?.["ring"] ?? "",
      },
      annotations: {
        [setAnnotations.updatedAt]: since,
        [setAnnotations.spec]: desired.hash,
      },
    },
    // As an API server returns it: no part is shared with another component.
    spec: structuredClone({ ...desired.spec, clusterProfileRef: { namespace, name } }),
    status: {
      observedGeneration: 2,
      conditions: said,
      version: revision.number === 1 ? "1.22.0" : "1.23.0",
    },
  };
}
