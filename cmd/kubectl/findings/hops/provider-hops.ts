import { ServedKind } from "../../../../access/kube/profile-versions.ts";
import {
  parseProviderFile,
  type Provider,
  type ProviderFile,
  type Strictness,
} from "../../../../access/providers/provider-config.ts";
import { loadProviderFile } from "../../../../access/providers/provider-file.ts";
import {
  type SelectedProvider,
  selectProvider,
} from "../../../../access/providers/select-provider.ts";
import { accessOf, type ResolvedAccess } from "../../../../access/spokes/resolved-access.ts";
import {
  type AccessCluster,
  type ClusterProfile,
  clusterProfileApiVersion,
} from "../../../../api/cluster-profile.ts";
import { recordAt } from "../../../../api/fields.ts";
import { knownResource } from "../../../../api/resources.ts";
import {
  type ControllerDeployment,
  listControllerDeployments,
  type Controllers,
  flagOf,
  flagValuesOf,
  severalText,
  soleController,
} from "../../hub/find-controller.ts";
import { readHubProviderFile, type HubProviderFile } from "../../hub/hub-provider-file.ts";
import { itemsAt, stringAt } from "../../selection/fields.ts";
import { ifDenied } from "../../spokes/spoke-reading.ts";
import type { WalkContext } from "../walk.ts";
import { failedBy, finding, type Finding, type HopResult, passedWith } from "./hop.ts";

/** A provider file and its origin, which decides which of its commands may run. */
export interface FoundFile {
  readonly file: ProviderFile;
  readonly from: "machine" | "cluster";
  /** What built-in readers follow when an administrator of the hub vouches for its file; undefined: they do not follow the file. */
  readonly readers?: Pick<HubProviderFile, "environment" | "refusal">;
}

const flag = "--clusterprofile-provider-file";

/** Reads the provider file that was named, else the file that the controller on the hub has in a ConfigMap. */
export async function readProviderFile(
  controllers: Controllers | undefined,
  context: WalkContext,
  signal: AbortSignal,
): Promise<HopResult<FoundFile>> {
  const { providerFile } = context;
  if (providerFile !== undefined) {
    const file = await loadProviderFile({ path: providerFile }, signal);
    return fileResult({ file, from: "machine" }, providerFile);
  }
  const several = severalText(controllers?.deployments ?? [], "knfleet");
  if (several !== undefined) return unnamedFile(several);
  const trusted = await readTrustedFile(controllers, context, signal);
  // With --exec, commands run as they stand in the controller's file, with all their variables.
  if (trusted !== undefined && !context.exec) {
    const { file, place, replaced, ...readers } = trusted;
    return fileResult({ file, from: "cluster", readers }, place, replaced);
  }
  const readers = trusted === undefined ? {} : { readers: trusted };
  const all = await listControllers(controllers, context, signal);
  for (const flavour of ["knfleet", "upstream"] as const) {
    const clash = severalText(all, flavour);
    if (clash !== undefined) return unnamedFile(clash);
    const deployment = soleController(all, flavour);
    // oxlint-disable-next-line no-await-in-loop -- the file of knfleet's controller comes first
    const found = deployment && (await readMountedFile(deployment, context, signal));
    if (found === undefined) continue;
    return fileResult({ file: found.file, from: "cluster", ...readers }, found.place);
  }
  return unnamedFile("No provider file was named, and no controller on the hub names one");
}

/** A warning only: the controller's conditions report about its own file. */
function unnamedFile(message: string): HopResult<never> {
  const next = [`Name a provider file with ${flag}, or set KNFLEET_PROVIDER_FILE.`];
  return failedBy(finding("warning", "KNF3001", { message, next }));
}

/** Undefined also when knfleet's controller refuses the file: then the file that it mounts says why. */
async function readTrustedFile(
  controllers: Controllers | undefined,
  { hub, fileHub = hub, environment, pluginNamespace, hubTimeoutMs: timeoutMs }: WalkContext,
  signal: AbortSignal,
): Promise<HubProviderFile | undefined> {
  const ours = soleController(controllers?.deployments ?? [], "knfleet");
  const isReader = ours !== undefined && flagOf(ours, flag) !== undefined;
  const strict = isReader ? strictnessOf(ours) : {};
  const options = { pluginNamespace, environment, timeoutMs, ...strict };
  const found = await readHubProviderFile(fileHub, options, signal);
  return typeof found === "string" ? undefined : found;
}

/** The controllers that the walk found, else those that the identity which reads the file can list. */
async function listControllers(
  controllers: Controllers | undefined,
  { fileHub }: Pick<WalkContext, "fileHub">,
  signal: AbortSignal,
): Promise<readonly ControllerDeployment[]> {
  const seen = controllers?.deployments;
  if (seen !== undefined || fileHub === undefined) return seen ?? [];
  return (await listControllerDeployments(fileHub, signal).catch(ifDenied)) ?? [];
}

function fileResult(
  found: FoundFile,
  place: string,
  replaced: readonly string[] = [],
): HopResult<FoundFile> {
  const names = found.file.providers.map(({ name }) => name);
  const text = `${place} has ${names.length === 0 ? "no providers" : names.join(", ")}`;
  const broken = found.file.providers.flatMap(({ name, problem }) =>
    problem === undefined ? [] : [`${name}: ${problem}`],
  );
  const instead = replaced.map((command) => `a built-in reader stands for ${command}`);
  return passedWith(found, text, { evidence: [...broken, ...found.file.warnings, ...instead] });
}

interface MountedFile {
  readonly file: ProviderFile;
  readonly place: string;
}

async function readMountedFile(
  deployment: ControllerDeployment,
  { hub, fileHub = hub }: WalkContext,
  signal: AbortSignal,
): Promise<MountedFile | undefined> {
  const path = flagOf(deployment, flag);
  const mounted = path === undefined ? undefined : mountedConfigMap(deployment, path);
  if (path === undefined || mounted === undefined) return undefined;
  const { namespace } = deployment;
  const ref = { resource: knownResource("v1", "ConfigMap"), namespace, name: mounted.name };
  const map = await fileHub.get(ref, {}, signal).catch(ifDenied);
  const content = recordAt(map, "data")[mounted.key];
  if (typeof content !== "string") return undefined;
  const place = `ConfigMap ${namespace}/${mounted.name} (${mounted.key})`;
  const format = /\.ya?ml$/.test(path) ? "yaml" : "json";
  const source = { path: place, format, ...strictnessOf(deployment) } as const;
  return { file: parseProviderFile(content, source), place };
}

/** How a controller reads its file: knfleet's refuses what upstream's takes. */
function strictnessOf(controller: ControllerDeployment): { readonly strict?: Strictness } {
  if (controller.flavour !== "knfleet") return {};
  return { strict: { roots: flagValuesOf(controller, "--plugin-root") } };
}

/** The ConfigMap, and its key, that is mounted at a path in a container. */
function mountedConfigMap(
  { object }: ControllerDeployment,
  path: string,
): { readonly name: string; readonly key: string } | undefined {
  const pod = recordAt(object, "spec", "template", "spec");
  for (const container of itemsAt(pod, "containers")) {
    for (const mount of itemsAt(container, "volumeMounts")) {
      const at = stringAt(mount, "mountPath")?.replace(/\/$/, "") ?? "";
      const key = stringAt(mount, "subPath") ?? path.slice(at.length + 1);
      const isHere = path === at || path.startsWith(`${at}/`);
      const volume = itemsAt(pod, "volumes").find(
        (one) => stringAt(one, "name") === stringAt(mount, "name"),
      );
      const name = stringAt(volume, "configMap", "name");
      if (isHere && name !== null) return { name, key: keyAtPath(volume, key) };
    }
  }
  return undefined;
}

function keyAtPath(volume: unknown, path: string): string {
  const item = itemsAt(volume, "configMap", "items").find((one) => stringAt(one, "path") === path);
  return stringAt(item, "key") ?? path;
}

/** Chooses the provider for the profile, and says why earlier ones do not fit. */
export function chooseProvider(
  profile: ClusterProfile,
  { file }: FoundFile,
): HopResult<SelectedProvider> {
  const selected = selectProvider(profile, file);
  const { provider, source, skipped } = selected;
  const findings = skipped.map((why) =>
    finding("warning", "KNF3019", { message: `Passed over: ${why}` }),
  );
  const deprecated = source === "accessProviders" ? "" : " of the deprecated credentialProviders";
  return passedWith(selected, `${provider.name}${deprecated}`, { findings });
}

/** Resolves the address of the server and the command that gets a credential. */
export function resolveEndpoint(
  profile: ClusterProfile,
  selected: SelectedProvider,
  nowMs: number,
): HopResult<ResolvedAccess> {
  const access = accessOf(profile, selected, nowMs);
  const { server, tlsServerName, proxy, insecureSkipTlsVerify } = access.endpoint;
  const through =
    proxy === undefined ? "" : ` through ${proxy.protocol}//${proxy.host}:${proxy.port}`;
  const as = tlsServerName === undefined ? "" : `, checked as ${tlsServerName}`;
  const warnings = access.warnings.map((what) => finding("warning", "KNF2007", { message: what }));
  const unverified = insecureSkipTlsVerify === true ? [finding("warning", "KNF4014", {})] : [];
  return passedWith(access, `${server}${through}${as}`, { findings: [...warnings, ...unverified] });
}

/**
 * Warns where the upstream operator connects in another way than knfleet's controller, as which this walk connects: it ignores fields (cli.md, D6), and
 * it passes additions of one ClusterProfile on to others (D7).
 */
export async function findUpstreamQuirks(
  { provider, entry }: SelectedProvider,
  context: WalkContext & { readonly signal: AbortSignal },
): Promise<readonly Finding[]> {
  return [...ignoredFields(entry.cluster ?? {}), ...(await findSharedAdditions(provider, context))];
}

const ignoredByUpstream = ["tls-server-name", "insecure-skip-tls-verify"] as const;

function ignoredFields(cluster: AccessCluster): readonly Finding[] {
  const ignored = ignoredByUpstream.filter(
    (field) => ![undefined, "", false].includes(cluster[field]),
  );
  if (ignored.length === 0) return [];
  const message = `The upstream operator ignores ${ignored.join(" and ")} of the ClusterProfile`;
  const next = [
    "give the API server a certificate for the host in server, and its authority in certificate-authority-data",
  ];
  return [finding("warning", "KNF2007", { message, next })];
}

async function findSharedAdditions(
  { name, argsPolicy, envPolicy }: Provider,
  { hub, signal }: Pick<WalkContext, "hub"> & { readonly signal: AbortSignal },
): Promise<readonly Finding[]> {
  const policies = [
    ...(argsPolicy === "Ignore" ? [] : [`profileSourcedCLIArgsPolicy: ${argsPolicy}`]),
    ...(envPolicy === "Ignore" ? [] : [`profileSourcedEnvVarsPolicy: ${envPolicy}`]),
  ];
  if (policies.length === 0) return [];
  const resource = knownResource(clusterProfileApiVersion, "ClusterProfile");
  const list = await new ServedKind(hub).list({ resource }, {}, signal).catch(ifDenied);
  const offering = (list?.items ?? []).filter((profile) =>
    ["accessProviders", "credentialProviders"].some((field) =>
      itemsAt(profile, "status", field).some((offer) => stringAt(offer, "name") === name),
    ),
  );
  if (offering.length < 2) return [];
  const message = `The upstream operator hands what one ClusterProfile adds to provider ${JSON.stringify(name)} on to the others that offer it: ${offering.length} do`;
  return [finding("warning", "KNF1020", { message, evidence: policies })];
}
