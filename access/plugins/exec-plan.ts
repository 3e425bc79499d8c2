import { createHash } from "node:crypto";

import type { AccessCluster, ClusterProfile } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";
import { byText, canonicalJson, isRecord } from "../../api/fields.ts";
import type { Endpoint } from "../http/endpoint.ts";
import type { EnvironmentVariable, Provider } from "../providers/provider-config.ts";
import { allowsVariable, type ProviderRules, refusedConfig } from "../providers/provider-rules.ts";
import type { ExecApiVersion } from "./credential.ts";

const execExtension = "client.authentication.k8s.io/exec";
const argsExtension = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args";
const envExtension = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs";

/** How to run an exec plugin. A deep copy: it shares no object with the provider file. */
export interface ExecPlan {
  readonly provider: string;
  readonly apiVersion: ExecApiVersion;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly EnvironmentVariable[];
  /** `spec.cluster` of the plugin's input; absent without `provideClusterInfo`. */
  readonly cluster?: Readonly<Record<string, unknown>>;
  readonly installHint: string;
  readonly timeoutMs: number;
  /** Required SHA-256 of the executable, in lower-case hexadecimal. */
  readonly sha256?: string;
}

const maxAdditions = 16;
const maxAdditionCharacters = 1_024;

/**
 * Plans the run of the selected provider's plugin: its command, with the arguments and variables that the profile may add.
 *
 * Throws `FleetError` `AccessProviderFailed` with code `ProviderInvalid` or `ExtensionInvalid`. Messages quote no
 * data of the profile. Spec: cluster-inventory.md 2.4, 3.1; security.md T-17.
 */
export function execPlan(
  provider: Provider,
  { profile, cluster }: { readonly profile: ClusterProfile; readonly cluster: AccessCluster },
): ExecPlan {
  const { exec, rules } = provider;
  if (exec === undefined) throw failed("ProviderInvalid", provider.problem ?? "has no execConfig");
  const extensions = extensionsOf(cluster);
  const refusal = refusedConfig(extensions.get(execExtension), profile, rules);
  if (refusal !== undefined) throw failed("ExtensionInvalid", refusal);
  const args =
    provider.argsPolicy === "Append" && extensions.has(argsExtension)
      ? argumentsOf(extensions.get(argsExtension))
      : [];
  const added =
    provider.envPolicy !== "Ignore" && extensions.has(envExtension)
      ? variablesOf(extensions.get(envExtension), rules)
      : undefined;
  return Object.freeze({
    provider: provider.name,
    apiVersion: exec.apiVersion,
    command: exec.command,
    args: Object.freeze([...exec.args, ...args]),
    env: mergedEnv(exec.env, added, provider.envPolicy),
    ...(exec.provideClusterInfo
      ? { cluster: clusterInfo(cluster, extensions.get(execExtension)) }
      : {}),
    installHint: exec.installHint,
    timeoutMs: exec.timeoutMs,
    ...(exec.sha256 === undefined ? {} : { sha256: exec.sha256 }),
  });
}

interface Shaping extends Pick<ProviderRules, "servers" | "proxies"> {
  /** When `register` renewed the credential. */
  readonly renewed?: string | undefined;
}

/**
 * A hash of everything that decides how a spoke is reached: endpoint, proxy, allowed address ranges, and the run of the plugin.
 * A new hash means a new connection. Spec: cluster-inventory.md 6.4.
 */
export function fingerprint(
  endpoint: Endpoint,
  plan: ExecPlan,
  { servers, proxies, renewed }: Shaping = {},
): string {
  const { installHint: _hint, env, ...shaping } = plan;
  const sorted = env.toSorted(byText(({ name }) => name));
  const { login, ...address } = endpoint.proxy ?? {};
  const proxy = { ...address, user: login?.user.reveal(), password: login?.password.reveal() };
  const text = canonicalJson({
    endpoint: { ...endpoint, proxy },
    plan: { ...shaping, env: sorted },
    // Only ranges, which each new connection checks. Host names were checked when the provider was selected.
    ranges: [servers, proxies].map((rule = []) =>
      rule.filter((pattern) => pattern.includes("/")).toSorted(),
    ),
    ...(renewed === undefined ? {} : { renewed }),
  });
  return createHash("sha256").update(text).digest("hex");
}

function extensionsOf(cluster: AccessCluster): ReadonlyMap<string, unknown> {
  const byName = new Map<string, unknown>();
  const extensions: unknown = cluster.extensions ?? [];
  if (!Array.isArray(extensions)) throw failed("ExtensionInvalid", "extensions is not a list");
  for (const entry of extensions) {
    if (!isRecord(entry)) throw failed("ExtensionInvalid", "an extension is not an object");
    const name = typeof entry["name"] === "string" ? entry["name"] : "";
    if (byName.has(name)) {
      throw failed("ExtensionInvalid", "an extension of the profile occurs twice");
    }
    byName.set(name, entry["extension"]);
  }
  return byName;
}

/** Accepts a list and `{"args": [...]}`, because an extension in a stored ClusterProfile has to be an object. */
function argumentsOf(extension: unknown): readonly string[] {
  const isObjectForm = isRecord(extension) && Object.keys(extension).join() === "args";
  const list: unknown = isObjectForm ? extension["args"] : extension;
  if (!Array.isArray(list) || list.length > maxAdditions) {
    throw failed(
      "ExtensionInvalid",
      `${argsExtension} is neither a list of at most ${maxAdditions} nor an object with such a list in args alone`,
    );
  }
  return list.map((item: unknown) => scalarText(item, argsExtension));
}

function variablesOf(extension: unknown, rules: ProviderRules): ReadonlyMap<string, string> {
  if (!isRecord(extension) || Object.keys(extension).length > maxAdditions) {
    throw failed("ExtensionInvalid", `${envExtension} is not a map of at most ${maxAdditions}`);
  }
  const entries = Object.entries(extension).map(([name, value]): [string, string] => {
    if (!/^[A-Za-z0-9_.-]{1,128}$/.test(name) || isForbidden(name)) {
      throw failed(
        "ExtensionInvalid",
        `${envExtension} sets a variable that a profile may not set`,
      );
    }
    if (!allowsVariable(rules, name)) {
      throw failed(
        "ExtensionInvalid",
        `${envExtension} sets a variable that allowedEnvNames does not hold`,
      );
    }
    return [name, scalarText(value, envExtension)];
  });
  return new Map(entries);
}

function scalarText(value: unknown, extension: string): string {
  const text = textOfScalar(value);
  // oxlint-disable-next-line no-control-regex -- what must not reach a command line
  if (text === undefined || text.length > maxAdditionCharacters || /[\u0000\r\n]/.test(text)) {
    throw failed("ExtensionInvalid", `${extension} holds a value that cannot be passed on`);
  }
  return text;
}

function textOfScalar(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  const plain = typeof value === "number" || typeof value === "boolean" || JSON.isRawJSON(value);
  return plain ? JSON.stringify(value) : undefined;
}

// Variables that a profile must not set, because they choose the binary, the loader, the trust store, the proxy, how names are resolved, which
// Secret or token file a plugin reads, or to which server it sends the identity of our process.
const forbiddenNames = new Set(
  [
    "PATH HOME SHELL IFS ENV BASH_ENV JAVA_TOOL_OPTIONS GODEBUG GOTRACEBACK KUBECONFIG NAMESPACE POD_NAMESPACE",
    "SSL_CERT_FILE SSL_CERT_DIR HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE GOOGLE_APPLICATION_CREDENTIALS AZURE_CONFIG_DIR",
    "SSLKEYLOGFILE HOSTALIASES LOCALDOMAIN RES_OPTIONS GLIBC_TUNABLES GCONV_PATH LOCPATH NLSPATH PS4",
    "PROMPT_COMMAND SHELLOPTS BASHOPTS PAGER EDITOR VISUAL BROWSER USERPROFILE DOTNET_STARTUP_HOOKS",
    "AWS_WEB_IDENTITY_TOKEN_FILE AZURE_AUTHORITY_HOST AZURE_FEDERATED_TOKEN_FILE",
  ].flatMap((line) => line.split(" ")),
);
const forbiddenPrefixes =
  /^(?:LD_|DYLD_|NODE_|NPM_|PYTHON|PERL|RUBY|KUBERNETES_|SSL_CERT_|GIT_|CLOUDSDK_|BASH_|OPENSSL_|MALLOC_|XDG_|AWS_ENDPOINT_URL|AWS_CONTAINER_|AWS_EC2_METADATA_)/;
const forbiddenSuffixes = /(?:_PROXY|_CA_BUNDLE|JAVA_OPTIONS)$/;

function isForbidden(name: string): boolean {
  const upper = name.toUpperCase();
  return (
    forbiddenNames.has(upper) || forbiddenPrefixes.test(upper) || forbiddenSuffixes.test(upper)
  );
}

/** Configured variables in their order, then new ones sorted by name. */
function mergedEnv(
  configured: readonly EnvironmentVariable[],
  added: ReadonlyMap<string, string> | undefined,
  policy: Provider["envPolicy"],
): readonly EnvironmentVariable[] {
  if (added === undefined) return configured;
  // When the provider file sets a name twice, the last value counts.
  const values = new Map(configured.map(({ name, value }) => [name, value]));
  const kept = [...values].map(([name, value]) =>
    Object.freeze({ name, value: (policy === "Replace" ? added.get(name) : undefined) ?? value }),
  );
  const fresh = [...added]
    .filter(([name]) => !values.has(name))
    .toSorted(byText(([key]) => key))
    .map(([name, value]) => Object.freeze({ name, value }));
  return Object.freeze([...kept, ...fresh]);
}

function clusterInfo(cluster: AccessCluster, config: unknown): Readonly<Record<string, unknown>> {
  return Object.freeze({
    server: cluster.server ?? "",
    "tls-server-name": unlessEmpty(cluster["tls-server-name"]),
    "insecure-skip-tls-verify": cluster["insecure-skip-tls-verify"] === true ? true : undefined,
    "certificate-authority-data": unlessEmpty(cluster["certificate-authority-data"]),
    "proxy-url": unlessEmpty(cluster["proxy-url"]),
    "disable-compression": cluster["disable-compression"] === true ? true : undefined,
    config: config ?? null,
  });
}

function unlessEmpty(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}

function failed(code: "ProviderInvalid" | "ExtensionInvalid", what: string): FleetError {
  return new FleetError("AccessProviderFailed", `The exec plugin cannot be run: ${what}`, { code });
}
