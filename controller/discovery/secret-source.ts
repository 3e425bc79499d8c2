import { keyNames } from "../../access/profiles/key-names.ts";
import {
  type KubeconfigCluster,
  kubeconfigClusters,
  type RefusedKubeconfig,
} from "../../access/profiles/kubeconfig-clusters.ts";
import { recordAt, textAt } from "../../api/fields.ts";
import { foreignText } from "../../api/foreign-text.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import {
  annotatedProperties,
  copiedLabels,
  type DiscoverySettings,
  identityOfSource,
  type Source,
  type SourceAccess,
  shortDigest,
  sourceObjectOf,
} from "./source.ts";

const contextsAnnotation = "knfleet.dev/contexts";
/** Type of the Secrets that Cluster API makes. */
const clusterApiType = "cluster.x-k8s.io/secret";

/** Annotation of a Secret that keeps its kubeconfig under another key than the others, such as `admin.conf`. */
const keyAnnotation = "knfleet.dev/kubeconfig-key";
const longestKey = 253;

const missing = { kind: "missing", why: "does not exist" } as const;
/** A finalizer holds the Secret. Whoever deleted it wants its credential to be used no more. */
const leaving = { kind: "missing", why: "is being deleted" } as const;

interface ContextAccess {
  /** Undefined: the current context. */
  readonly context: string | undefined;
  readonly access: SourceAccess;
}

/** The label selector of Secrets with a kubeconfig. */
export function secretSelector({ kubeconfigLabel, selector }: DiscoverySettings): string {
  return [`${kubeconfigLabel}=true`, ...(selector === "" ? [] : [selector])].join(",");
}

/** The clusters of a Secret with a kubeconfig: one, or one a context where its annotation `knfleet.dev/contexts: "*"` asks for that. */
export function sourcesOfSecret(
  secret: KubeObject,
  settings: DiscoverySettings,
  nowMs: number,
): readonly Source[] {
  // Cluster API's own Secrets are read by its producer, which knows more about the cluster.
  const isOfClusterApi = secret["type"] === clusterApiType;
  if (isOfClusterApi && settings.producers.includes("cluster-api")) return [];
  const { metadata } = secret;
  const object = sourceObjectOf(secret, "v1", "Secret");
  const { kubeconfigLabel } = settings;
  const key = keyOf(secret, settings);
  const common = {
    producer: "kubeconfig-secrets",
    object,
    createdAt: metadata.creationTimestamp ?? "",
    labels: copiedLabels(metadata.labels, [kubeconfigLabel]),
    properties: annotatedProperties(metadata.annotations),
    secret: { namespace: object.metadata.namespace, name: metadata.name, key },
  } as const;
  const name = metadata.name.replace(/(?<=.)-kubeconfig$/, "");
  const asked = metadata.annotations?.[contextsAnnotation] ?? "";
  const contexts = asked === "*" ? "all" : "current";
  const hint = `, and its annotation ${keyAnnotation} can name one`;
  return readContexts(secret, { key, contexts, nowMs, hint }).map(({ context, access }) => {
    return {
      ...common,
      identity: identityOfSource(object, context),
      name: context === undefined ? name : `${name}-${contextPart(context)}`,
      ...(context === undefined ? {} : { context }),
      // The current context may be another cluster than the one that was meant.
      access: asked === "" || asked === "*" ? access : unknownContexts(asked),
    };
  });
}

function unknownContexts(asked: string): SourceAccess {
  const value = JSON.stringify(foreignText(asked, longestKey));
  const why = `is not read: the annotation ${contextsAnnotation} is ${value}, and only "*" has a meaning`;
  return { kind: "refused", why };
}

function keyOf({ metadata }: KubeObject, { kubeconfigKey }: DiscoverySettings): string {
  const named = metadata.annotations?.[keyAnnotation] ?? "";
  return named === "" ? kubeconfigKey : named.slice(0, longestKey);
}

/** How a Secret says that the cluster of its current context is reached. */
export function accessOfSecret(
  secret: KubeObject | undefined,
  key: string,
  nowMs: number,
): SourceAccess {
  const [one] =
    secret === undefined ? [] : readContexts(secret, { key, contexts: "current", nowMs });
  return one?.access ?? missing;
}

interface ContextChoice {
  readonly key: string;
  readonly contexts: "current" | "all";
  /** Wall clock in ms. */
  readonly nowMs: number;
  /** What to do about a missing key, for the end of the message. */
  readonly hint?: string;
}

function readContexts(
  secret: KubeObject,
  { key, contexts, nowMs, hint = "" }: ContextChoice,
): readonly ContextAccess[] {
  const isLeaving = secret.metadata.deletionTimestamp !== undefined;
  const data = recordAt(secret, "data");
  const base64 = textAt(data, key) ?? "";
  if (base64 === "") {
    const why = `${missing.why}: the Secret has ${keyNames(data)}${hint}`;
    return [{ context: undefined, access: isLeaving ? leaving : { ...missing, why } }];
  }
  const text = Buffer.from(base64, "base64").toString("utf8");
  return kubeconfigClusters(text, contexts, nowMs).map((one) => ({
    context: one.isCurrent ? undefined : one.context,
    access: isLeaving ? leaving : accessOf(one),
  }));
}

function accessOf(one: KubeconfigCluster | RefusedKubeconfig): SourceAccess {
  return "why" in one
    ? { kind: "refused", why: one.why }
    : { kind: "cluster", cluster: one.cluster };
}

/** A context as a part of a name. Two contexts never share one. */
function contextPart(context: string): string {
  const part = context.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const trimmed = part.replaceAll(/^-+|-+$/g, "");
  if (trimmed === context) return trimmed;
  const digest = shortDigest(context);
  return trimmed === "" ? digest : `${trimmed}-${digest}`;
}
