import { ApiError, ConnectionError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import {
  builtInPrefix,
  isBuiltIn,
  secretReaderOf,
} from "../../../access/plugins/built-in-plugins.ts";
import {
  parseProviderFile,
  type Provider,
  type ProviderFile,
  type Strictness,
} from "../../../access/providers/provider-config.ts";
import { foldedKey } from "../../../access/providers/provider-schema.ts";
import type { ResolvedAccess } from "../../../access/spokes/resolved-access.ts";
import { withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { FleetError } from "../../../api/errors.ts";
import { isRecord, recordAt, textAt } from "../../../api/fields.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { providerLabel } from "../../../webhook/reviews/provider-maps.ts";
import { chartLabel, listInstalledNamespaces } from "./installed-namespaces.ts";

/** The provider file of the chart on the hub, as this machine may use it. */
export interface HubProviderFile {
  readonly file: ProviderFile;
  /** `ConfigMap namespace/name`. */
  readonly place: string;
  /** Commands of official plugins that built-in readers replace here. */
  readonly replaced: readonly string[];
  /** The namespace whose Secrets the chart lets the controller read. Undefined: the chart does not say. */
  readonly credentialsNamespace: string | undefined;
  /** Environment of the built-in readers: that of the controller's pod, and nothing of this machine. */
  readonly environment: Readonly<Record<string, string>>;
  /** Why this machine may not use an access. Undefined when it may. */
  readonly refusal: (access: ResolvedAccess) => string | undefined;
}

interface HubFileOptions {
  /** Namespace whose Secrets are read. Undefined: that of the controller. */
  readonly pluginNamespace: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
  /** Absent: the file is read as tolerantly as by Go. */
  readonly strict?: Strictness;
}

/** The key that the chart mounts for the controller. */
const fileKey = "config.json";
const namespaceAnnotation = "knfleet.dev/credentials-namespace";
const namespaceVariable = "POD_NAMESPACE";

/**
 * Reads the one ConfigMap with the label of provider files in a namespace of knfleet, with one list of ConfigMaps and one of ClusterRoleBindings. Returns a
 * sentence when there is no usable one. Throws only bugs, and the reason of an abort.
 */
export async function readHubProviderFile(
  hub: Pick<KubeClient, "list">,
  options: HubFileOptions,
  signal: AbortSignal,
): Promise<HubProviderFile | string> {
  try {
    const deadline = withTimeout(systemClock, options.timeoutMs, signal);
    const resource = knownResource("v1", "ConfigMap");
    const listing = hub.list({ resource, labelSelector: providerLabel }, {}, deadline);
    const [{ items }, namespaces] = await Promise.all([
      listing,
      listInstalledNamespaces(hub, deadline),
    ]);
    const labelled = items.filter(({ metadata: { labels = {} } }) =>
      Object.hasOwn(labels, providerLabel),
    );
    const [map, ...more] = labelled.filter(({ metadata: { namespace = "" } }) =>
      namespaces.has(namespace),
    );
    if (map === undefined) return noneOf(labelled);
    return more.length === 0 ? usable(map, options) : several([map, ...more]);
  } catch (error) {
    signal.throwIfAborted();
    return whyNot(error);
  }
}

const shownMaps = 3;

function noneOf(labelled: readonly KubeObject[]): string {
  const [foreign] = labelled;
  if (foreign === undefined) return `the hub has no ConfigMap with the label ${providerLabel}`;
  return `no ClusterRoleBinding with the label ${chartLabel} is for the namespace of ConfigMap ${nameOf(foreign)}`;
}

function several(maps: readonly KubeObject[]): string {
  const names = maps.map(nameOf).toSorted();
  const shown = names.slice(0, shownMaps).join(", ");
  const rest = names.length > shownMaps ? " …" : "";
  return `${names.length} ConfigMaps of the hub have the label ${providerLabel}: ${shown}${rest}`;
}

function nameOf({ metadata: { namespace = "", name } }: KubeObject): string {
  return `${namespace}/${name}`;
}

function whyNot(error: unknown): string {
  if (error instanceof ApiError && error.status === 403) {
    return "the right to list ConfigMaps in all namespaces of the hub, or ClusterRoleBindings, is missing";
  }
  if (error instanceof ApiError) {
    return `the hub answered ${error.status} when asked for its provider file`;
  }
  if (error instanceof ConnectionError) return error.message;
  if (error instanceof FleetError) return error.sentence;
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return "the hub did not say in time which provider file it has";
  }
  throw error;
}

function usable(map: KubeObject, options: HubFileOptions): HubProviderFile | string {
  const place = `ConfigMap ${nameOf(map)}`;
  const text = textAt(recordAt(map, "data"), fileKey);
  if (text === undefined) return `${place} has no ${fileKey}`;
  // Throws FleetError, which `whyNot` turns into a sentence.
  const { pluginNamespace, environment, strict } = options;
  const source = { path: `${place} (${fileKey})`, format: "json" } as const;
  const file = parseProviderFile(text, strict === undefined ? source : { ...source, strict });
  const own = pluginNamespace ?? map.metadata.namespace ?? "";
  const granted = map.metadata.annotations?.[namespaceAnnotation];
  const commands = file.providers.map(({ exec }) => exec?.command);
  const providers = file.providers.map((one) => forReaders(one, pluginNamespace));
  const replaced = commands.filter((command, at) => command !== providers[at]?.exec?.command);
  const inPod = environment["KUBERNETES_SERVICE_HOST"];
  return {
    file: { ...file, providers },
    place,
    credentialsNamespace: granted,
    replaced: [...new Set(replaced.filter((command) => command !== undefined))],
    environment: {
      [namespaceVariable]: own,
      ...(inPod === undefined ? {} : { KUBERNETES_SERVICE_HOST: inPod }),
    },
    refusal: (access) =>
      refusedCommand(access, place) ??
      refusedNamespace(access, new Set(granted === undefined ? [own] : [own, granted])),
  };
}

const kubeconfigVariable = "KUBECONFIG";

/**
 * Replaces the command of an official plugin, a file of the controller's pod, by the built-in reader with the same function. A command with arguments or
 * another kubeconfig may do something else, and stays. Nothing is run, so T-85 holds. Spec: cli.md D11, cluster-inventory.md 4.
 */
function readerFor({ command, args, env }: NonNullable<Provider["exec"]>): string {
  const name = secretReaderOf(command);
  const isPlain = args.length === 0 && env.every((one) => one.name !== kubeconfigVariable);
  return name === undefined || !isPlain ? command : `${builtInPrefix}${name}`;
}

/** Prepares a provider for this machine. Keeps only the variable for the namespace of Secrets, because the others may hold paths of a pod. */
function forReaders(provider: Provider, pluginNamespace: string | undefined): Provider {
  const { exec } = provider;
  if (exec === undefined) return provider;
  const env = exec.env.filter(
    ({ name }) => name === namespaceVariable && pluginNamespace === undefined,
  );
  return { ...provider, exec: { ...exec, command: readerFor(exec), env } };
}

/** Commands from the cluster are not run here. Built-in readers are no commands. Security: T-85. */
function refusedCommand({ plan, profile, provider }: ResolvedAccess, place: string) {
  if (isBuiltIn(plan.command)) return undefined;
  const { namespace, name } = profile;
  return (
    `The command ${plan.command} of the provider ${provider} came from ${place} and was not run: name a provider file of this machine with ` +
    `--clusterprofile-provider-file, or look as the controller with kubectl knfleet diagnose ${namespace}/${name} --from controller`
  );
}

/**
 * The author of a ClusterProfile chooses the Secret and the server that receives its content. The user of this program may read more namespaces than the
 * controller, so only the controller's namespaces are allowed. Security: T-16.
 */
function refusedNamespace({ plan }: ResolvedAccess, allowed: ReadonlySet<string>) {
  const stated = plan.env.find(({ name }) => name === namespaceVariable)?.value.trim();
  const config = isRecord(plan.cluster?.["config"]) ? plan.cluster["config"] : {};
  const other = Object.entries(config).find(
    ([key, value]) =>
      foldedKey(key) === foldedKey("namespace") &&
      typeof value === "string" &&
      !["", stated, ...allowed].includes(value),
  );
  if (other === undefined) return undefined;
  return (
    `The ClusterProfile names a Secret of the namespace ${String(other[1])}, in which the controller is not known to look: name that namespace with ` +
    "--plugin-namespace, or a provider file of this machine with --clusterprofile-provider-file"
  );
}
