import { isRecord, listAt, recordAt, textAt } from "../../api/fields.ts";
import { foreignText } from "../../api/foreign-text.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import {
  annotatedProperties,
  copiedLabels,
  identityOfSource,
  type Source,
  type SourceHealth,
  sourceObjectOf,
} from "./source.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Versions of Cluster API's Cluster that we read, in order of preference. */
export const clusterApiVersions = ["cluster.x-k8s.io/v1beta2", "cluster.x-k8s.io/v1beta1"] as const;

const clusterNameLabel = "cluster.x-k8s.io/cluster-name";
const infrastructureProperty = "cluster.x-k8s.io/infrastructure-kind";
const longestMessage = 1_024;

/** The source that a Cluster of Cluster API is, v1beta1 or v1beta2. Its kubeconfig is in a Secret, which is read when the profile is written. */
export function sourceOfCluster(cluster: KubeObject): Source {
  const { metadata } = cluster;
  const object = sourceObjectOf(cluster, cluster.apiVersion, "Cluster");
  const { namespace, name } = object.metadata;
  const spec = recordAt(cluster, "spec");
  const kind = textAt(recordAt(spec, "infrastructureRef"), "kind") ?? "";
  const version = textAt(recordAt(spec, "topology"), "version") ?? "";
  return {
    producer: "cluster-api",
    object,
    identity: identityOfSource(object, undefined),
    name,
    createdAt: metadata.creationTimestamp ?? "",
    labels: { ...copiedLabels(metadata.labels), [clusterNameLabel]: name.slice(0, 63) },
    properties: {
      ...(kind === "" ? {} : { [infrastructureProperty]: kind }),
      ...annotatedProperties(metadata.annotations),
    },
    secret: { namespace, name: `${name}-kubeconfig`, key: "value" },
    access: { kind: "unread" },
    health: healthOf(cluster),
    ...(version === "" ? {} : { kubernetes: version }),
  };
}

/** The conditions of a Cluster that tell of its API server. */
const telling = ["RemoteConnectionProbe", "ControlPlaneAvailable"] as const;

function healthOf({ metadata, ...cluster }: KubeObject): SourceHealth {
  if (metadata.deletionTimestamp !== undefined) {
    return { status: "False", reason: "ClusterDeleting", message: "The Cluster is being deleted" };
  }
  const status = recordAt(cluster, "status");
  const conditions = currentConditions(cluster.apiVersion, status).filter(({ type }) =>
    telling.some((one) => one === type),
  );
  const worst =
    conditions.find((one) => one["status"] === "False") ??
    conditions.find((one) => one["status"] !== "True");
  if (worst !== undefined) return healthFrom(worst);
  if (conditions.length > 0 || isInitialized(cluster.apiVersion, status)) {
    return { status: "True", reason: "Ready", message: "" };
  }
  const message = "Cluster API has not initialized the control plane yet";
  return { status: "False", reason: "NotInitialized", message };
}

/** The conditions of today's kind. In v1beta1, `status.conditions` are of an older kind. */
function currentConditions(apiVersion: string, status: Fields): readonly Fields[] {
  const holder = isEarlierVersion(apiVersion) ? recordAt(status, "v1beta2") : status;
  return listAt(holder, "conditions").filter(isRecord);
}

function isInitialized(apiVersion: string, status: Fields): boolean {
  if (!isEarlierVersion(apiVersion)) {
    return recordAt(status, "initialization")["controlPlaneInitialized"] === true;
  }
  const initialized = listAt(status, "conditions")
    .filter(isRecord)
    .find(({ type }) => type === "ControlPlaneInitialized");
  return initialized?.["status"] === "True" || status["controlPlaneReady"] === true;
}

function isEarlierVersion(apiVersion: string): boolean {
  return apiVersion.endsWith("/v1beta1");
}

function healthFrom(condition: Fields): SourceHealth {
  const reason = textAt(condition, "reason") ?? "";
  return {
    status: condition["status"] === "False" ? "False" : "Unknown",
    reason: /^[A-Za-z][A-Za-z0-9_]{0,200}$/.test(reason) ? reason : "NotReady",
    message: foreignText(textAt(condition, "message") ?? "", longestMessage),
  };
}
