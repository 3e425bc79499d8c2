import { BlockList, isIP } from "node:net";

import type { ClusterProfile } from "../../api/cluster-profile.ts";
import { isRecord } from "../../api/fields.ts";
import { foldedKey, type RawProvider } from "./provider-schema.ts";

/** Restricts who may use a provider and for what. An absent rule allows everything. Spec: cluster-inventory.md 2.2, 2.6. */
export interface ProviderRules {
  /** Namespaces of the hub whose profiles may use it. */
  readonly namespaces?: readonly string[];
  /** `spec.clusterManager.name` of the profiles that may use it. */
  readonly clusterManagers?: readonly string[];
  /** `host`, `*.domain`, `*-rest.of.host`, each with or without `:port`, or an address range. */
  readonly servers?: readonly string[];
  /** The same for the proxies of profiles. */
  readonly proxies?: readonly string[];
  /** Keys that the plugin's configuration may have. */
  readonly configKeys?: readonly string[];
  /** Variables that a profile may set; a trailing `*` makes a prefix. */
  readonly envNames?: readonly string[];
  /** By key of the plugin's configuration: the field of the profile that its value has to equal. */
  readonly requiredConfig?: Readonly<Record<string, string>>;
}

const managerLabel = "x-k8s.io/cluster-manager";

/** The rules of a provider's entry in the file. */
export function providerRules(raw: RawProvider): ProviderRules {
  return Object.freeze({
    ...rule("namespaces", raw.allowedNamespaces),
    ...rule("clusterManagers", raw.allowedClusterManagers),
    ...rule("servers", raw.allowedServers),
    ...rule("proxies", raw.allowedProxies),
    ...rule("configKeys", raw.allowedConfigKeys),
    ...rule("envNames", raw.allowedEnvNames),
    ...(raw.requiredConfig === undefined
      ? {}
      : { requiredConfig: Object.freeze({ ...raw.requiredConfig }) }),
  });
}

function rule(
  name: keyof ProviderRules,
  values: readonly string[] | undefined,
): Readonly<Record<string, readonly string[]>> {
  return values === undefined ? {} : { [name]: Object.freeze([...values]) };
}

/** The first invalid rule, as its key and what is wrong; undefined when all are valid. */
export function impossibleRule(rules: ProviderRules): readonly [string, string] | undefined {
  const what = "has an entry that is no host, *.domain, *-rest.of.host or address range";
  if (rules.servers?.some(isWrong) === true) return ["allowedServers", what];
  if (rules.proxies?.some(isWrong) === true) return ["allowedProxies", what];
  const source = Object.values(rules.requiredConfig ?? {}).find((path) => !isProfileField(path));
  if (source !== undefined) {
    return ["requiredConfig", "has a value other than name, namespace or labels[KEY]"];
  }
  return undefined;
}

function isWrong(pattern: string): boolean {
  return hostMatcher(pattern) === undefined;
}

/** Why a profile may not use a provider; undefined when it may. */
export function refusedProfile(profile: ClusterProfile, rules: ProviderRules): string | undefined {
  const { namespace } = profile.metadata;
  const manager = profile.spec?.clusterManager?.name ?? "";
  if (rules.namespaces?.includes(namespace) === false) {
    return `allowedNamespaces does not hold ${JSON.stringify(namespace)}`;
  }
  if (rules.clusterManagers?.includes(manager) === false) {
    return `allowedClusterManagers does not hold ${JSON.stringify(manager.slice(0, 64))}`;
  }
  if (rules.clusterManagers !== undefined && contradictsManager(profile)) {
    return `the label ${managerLabel} contradicts spec.clusterManager.name, which allowedClusterManagers asks for`;
  }
  return undefined;
}

/** True when the label of a profile names another cluster manager than its spec. The Cluster Inventory API requires both to be equal. */
export function contradictsManager({ metadata, spec }: ClusterProfile): boolean {
  const label = metadata.labels?.[managerLabel];
  return label !== undefined && label !== (spec?.clusterManager?.name ?? "");
}

/** True when the rules allow the server of a profile. */
export function allowsServer({ servers }: ProviderRules, server: string): boolean {
  const { hostname, port, protocol } = new URL(server);
  const usual = protocol === "https:" ? 443 : 80;
  return isAmong(servers, { host: hostname, port: port === "" ? usual : Number(port) });
}

/** True when the rules allow the proxy of a profile. */
export function allowsProxy({ proxies }: ProviderRules, proxy: HostPort | undefined): boolean {
  return proxy === undefined || isAmong(proxies, proxy);
}

function isAmong(patterns: readonly string[] | undefined, { host, port }: HostPort): boolean {
  if (patterns === undefined) return true;
  const address = { host: host.replace(/^\[|\]$|\.$/g, "").toLowerCase(), port };
  return patterns.some((pattern) => hostMatcher(pattern)?.(address) === true);
}

/** Why a profile's configuration of the plugin breaks the rules; undefined when it does not. Quotes none of its values. */
export function refusedConfig(
  config: unknown,
  profile: ClusterProfile,
  { configKeys, requiredConfig = {} }: ProviderRules,
): string | undefined {
  const fields = isRecord(config) ? config : {};
  if (configKeys !== undefined && Object.keys(fields).some((key) => !configKeys.includes(key))) {
    return "allowedConfigKeys does not hold every key of the plugin's configuration";
  }
  for (const [key, source] of Object.entries(requiredConfig)) {
    const required = profileField(profile, source);
    const actual = Object.hasOwn(fields, key) ? fields[key] : undefined;
    // Plugins in Go ignore the case of keys, and the last of several keys wins.
    const sameKeys = Object.keys(fields).filter((other) => foldedKey(other) === foldedKey(key));
    if (sameKeys.some((other) => other !== key)) {
      return `requiredConfig needs the key ${key} in the plugin's configuration, which spells it in another case`;
    }
    if (required === undefined || actual !== required) {
      return `requiredConfig needs ${key} of the plugin's configuration to be ${source} of the profile`;
    }
  }
  return undefined;
}

/** True when a profile may set a variable of this name. */
export function allowsVariable({ envNames }: ProviderRules, name: string): boolean {
  if (envNames === undefined) return true;
  return envNames.some((allowed) =>
    allowed.endsWith("*") ? name.startsWith(allowed.slice(0, -1)) : name === allowed,
  );
}

const labelPath = /^labels\[([\w./-]+)\]$/;

function isProfileField(path: string): boolean {
  return path === "name" || path === "namespace" || labelPath.test(path);
}

function profileField({ metadata }: ClusterProfile, path: string): string | undefined {
  if (path === "name" || path === "namespace") return metadata[path];
  const label = labelPath.exec(path)?.[1];
  return label === undefined ? undefined : metadata.labels?.[label];
}

/** Address of a server or a proxy. An IPv6 address may be in brackets. */
interface HostPort {
  readonly host: string;
  readonly port: number;
}

type HostMatcher = (address: HostPort) => boolean;

function hostMatcher(pattern: string): HostMatcher | undefined {
  const [, range = "", bits = ""] = /^([\da-fA-F.:]+)\/(\d{1,3})$/.exec(pattern) ?? [];
  if (range !== "") return rangeMatcher(range, Number(bits));
  const match = /^(\*[.-])?([\w-]+(?:\.[\w-]+)*|\[[\da-fA-F:.]+\])(?::(\d{1,5}))?$/.exec(pattern);
  if (match === null) return undefined;
  const [, wildcard = "", name = "", allowedPort] = match;
  const allowedHost = name.replace(/^\[|\]$/g, "").toLowerCase();
  if (wildcard === "*-" && isRegistrable(allowedHost)) return undefined;
  return ({ host, port }) =>
    fits(host, wildcard.slice(1), allowedHost) &&
    (allowedPort === undefined || Number(allowedPort) === port);
}

/**
 * Whether anybody could register a name that ends in `-NAME`, such as evil-example.com for example.com. Countries also sell names below a second label, as co.uk, and their
 * domains have hosts of anybody, as github.io: there NAME needs a label more.
 */
function isRegistrable(name: string): boolean {
  const labels = name.split(".");
  return labels.length < (labels.at(-1)?.length === 2 ? 4 : 3);
}

/** `*.` stands for one label or more, `*-` for the beginning of the first label. */
function fits(host: string, joint: string, allowed: string): boolean {
  if (joint === "") return host === allowed;
  const end = `${joint}${allowed}`;
  const rest = host.slice(0, -end.length);
  return rest !== "" && host.endsWith(end) && (joint === "." || !rest.includes("."));
}

/** Matches the addresses of a range. Host names never match, because their owner decides to which address they resolve. */
function rangeMatcher(network: string, bits: number): HostMatcher | undefined {
  const family = isIP(network);
  if (family === 0 || bits > (family === 4 ? 32 : 128)) return undefined;
  const addresses = new BlockList();
  addresses.addSubnet(network, bits, `ipv${family === 4 ? 4 : 6}`);
  return ({ host }) => {
    const kind = isIP(host);
    return kind !== 0 && addresses.check(host, kind === 4 ? "ipv4" : "ipv6");
  };
}
