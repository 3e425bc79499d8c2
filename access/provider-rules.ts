import { isIP, BlockList } from "node:net";

import type { ClusterProfile } from "../api/cluster-profile.ts";
import { isRecord } from "./json.ts";
import type { RawProvider } from "./provider-schema.ts";

/** Whom and what a provider is for; an absent rule allows everything. Spec: cluster-inventory.md 2.2, 2.6. */
export interface ProviderRules {
  /** Namespaces of the hub whose profiles may use it. */
  readonly namespaces?: readonly string[];
  /** `spec.clusterManager.name` of the profiles that may use it. */
  readonly clusterManagers?: readonly string[];
  /** `host`, `*.domain`, either with `:port`, or an address range. */
  readonly servers?: readonly string[];
  /** Keys that the plugin's configuration may have. */
  readonly configKeys?: readonly string[];
  /** Variables that a profile may set; one that ends in `*` is a prefix. */
  readonly envNames?: readonly string[];
  /** Keys of the plugin's configuration whose value has to be that of a field of the profile. */
  readonly requiredConfig?: Readonly<Record<string, string>>;
}

/** The rules of a provider as its entry in the file has them. */
export function providerRules(raw: RawProvider): ProviderRules {
  return Object.freeze({
    ...rule("namespaces", raw.allowedNamespaces),
    ...rule("clusterManagers", raw.allowedClusterManagers),
    ...rule("servers", raw.allowedServers),
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

/** What cannot be right in the rules, with the key that says it; undefined when they can be followed. */
export function impossibleRule(rules: ProviderRules): readonly [string, string] | undefined {
  const server = rules.servers?.find((pattern) => serverMatcher(pattern) === undefined);
  if (server !== undefined) {
    return ["allowedServers", "has an entry that is no host, *.domain or address range"];
  }
  const source = Object.values(rules.requiredConfig ?? {}).find((path) => !isProfileField(path));
  if (source !== undefined) {
    return ["requiredConfig", "has a value other than name, namespace or labels[KEY]"];
  }
  return undefined;
}

/** The rule by which a profile may not use a provider; undefined when it may. */
export function refusedProfile(profile: ClusterProfile, rules: ProviderRules): string | undefined {
  const { namespace } = profile.metadata;
  const manager = profile.spec?.clusterManager?.name ?? "";
  if (rules.namespaces?.includes(namespace) === false) {
    return `allowedNamespaces does not hold ${JSON.stringify(namespace)}`;
  }
  if (rules.clusterManagers?.includes(manager) === false) {
    return `allowedClusterManagers does not hold ${JSON.stringify(manager.slice(0, 64))}`;
  }
  return undefined;
}

/** True when the rules allow the server of a profile. */
export function allowsServer(rules: ProviderRules, server: string): boolean {
  if (rules.servers === undefined) return true;
  const url = new URL(server);
  return rules.servers.some((pattern) => serverMatcher(pattern)?.(url) === true);
}

/** The rule that the plugin's configuration of a profile breaks; undefined when it breaks none. Holds no value of it. */
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
    const wanted = profileField(profile, source);
    const given = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (wanted === undefined || given !== wanted) {
      return `requiredConfig wants ${key} of the plugin's configuration to be ${source} of the profile`;
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

type ServerMatcher = (url: URL) => boolean;

function serverMatcher(pattern: string): ServerMatcher | undefined {
  const [, range = "", bits = ""] = /^([\da-fA-F.:]+)\/(\d{1,3})$/.exec(pattern) ?? [];
  if (range !== "") return rangeMatcher(range, Number(bits));
  const host = /^(\*\.)?([\w-]+(?:\.[\w-]+)*|\[[\da-fA-F:.]+\])(?::(\d{1,5}))?$/.exec(pattern);
  if (host === null) return undefined;
  const [, wildcard, name = "", port] = host;
  const wanted = name.toLowerCase();
  return (url) => {
    const actual = url.hostname.replace(/\.$/, "");
    const isHost = wildcard === undefined ? actual === wanted : actual.endsWith(`.${wanted}`);
    return isHost && (port === undefined || port === (url.port || defaultPorts[url.protocol]));
  };
}

const defaultPorts: Readonly<Record<string, string>> = { "https:": "443", "http:": "80" };

/** Addresses of a range. A host name is in none, since whoever owns it says where it leads. */
function rangeMatcher(network: string, bits: number): ServerMatcher | undefined {
  const family = isIP(network);
  if (family === 0 || bits > (family === 4 ? 32 : 128)) return undefined;
  const addresses = new BlockList();
  addresses.addSubnet(network, bits, `ipv${family === 4 ? 4 : 6}`);
  return ({ hostname }) => {
    const address = hostname.replace(/^\[|\]$/g, "");
    const kind = isIP(address);
    return kind !== 0 && addresses.check(address, kind === 4 ? "ipv4" : "ipv6");
  };
}
