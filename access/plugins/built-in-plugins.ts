import { readFile } from "node:fs/promises";

import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import type { Code } from "../../api/reasons.ts";
import { knownResource } from "../../api/resources.ts";
import { loadKubeconfig } from "../hub/kubeconfig.ts";
import { ApiError } from "../kube/api-error.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { rightText } from "../kube/missing-right.ts";
import { foldedKey } from "../providers/provider-schema.ts";
import { withTimeout } from "../time/deadline.ts";
import type { Credential } from "./credential.ts";
import { parseExecCredential } from "./exec-credential.ts";
import type { ExecPlan } from "./exec-plan.ts";
import type { PluginSurroundings } from "./exec-plugin.ts";
import { kubeconfigUser, KubeconfigUserError } from "./kubeconfig-user.ts";

interface BuiltInSurroundings extends PluginSurroundings {
  /** The hub, whose Secrets are read with this process's own identity. */
  readonly hub: Pick<KubeClient, "get"> | undefined;
}

/** Prefix of the commands that run inside this process. */
export const builtInPrefix = "builtin:";
const readTimeoutMs = 10_000;

/** The official plugins that read a Secret of the hub. */
export type SecretReader = "secretreader" | "kubeconfig-secretreader";

/** The names of the official plugins in their images and in manual installations, and of the readers that are built in. */
const readerCommand = /^(?:builtin:|.*\/)?((?:kubeconfig-)?secretreader)(?:-plugin)?$/;

/** The official plugin that a command runs, as a process or built in. Undefined for every other command. */
export function secretReaderOf(command: string): SecretReader | undefined {
  const [, name] = readerCommand.exec(command) ?? [];
  return name === "secretreader" || name === "kubeconfig-secretreader" ? name : undefined;
}

/** True for a command that runs inside this process. */
export function isBuiltIn(command: string): boolean {
  return command.startsWith(builtInPrefix);
}

/**
 * Does the work of an official plugin without a process. `builtin:secretreader` and `builtin:kubeconfig-secretreader` take
 * the same configuration and read from the same namespace as the plugins, but with this process's own identity on the hub.
 *
 * Throws `FleetError` `AccessProviderFailed` with code `PluginNotFound`, `PluginFailed` or `PluginOutputInvalid`. Messages
 * never quote a Secret. Spec: cluster-inventory.md 4.1, 4.2.
 */
export async function runBuiltIn(
  plan: ExecPlan,
  surroundings: BuiltInSurroundings,
  signal: AbortSignal,
): Promise<Credential> {
  signal.throwIfAborted();
  const status = await statusOf(plan, surroundings, signal);
  const { apiVersion } = plan;
  const output = JSON.stringify({ kind: "ExecCredential", apiVersion, status });
  return parseExecCredential(output, plan, surroundings.clock.date());
}

function statusOf(
  plan: ExecPlan,
  surroundings: BuiltInSurroundings,
  signal: AbortSignal,
): Promise<object> {
  switch (plan.command.slice(builtInPrefix.length)) {
    case "secretreader":
      return readToken(plan, surroundings, signal);
    case "kubeconfig-secretreader":
      return readKubeconfig(plan, surroundings, signal);
    default:
      throw failed(plan, "PluginNotFound", "there is no such built-in reader");
  }
}

async function readToken(
  plan: ExecPlan,
  surroundings: BuiltInSurroundings,
  signal: AbortSignal,
): Promise<object> {
  const field = configOf(plan);
  const name = field("clusterName");
  if (name === "") throw failed(plan, "PluginFailed", "its configuration has no clusterName");
  const ref = { namespace: "", name, key: "token" };
  return { token: (await secretText(plan, { ref, surroundings }, signal)).text };
}

async function readKubeconfig(
  plan: ExecPlan,
  surroundings: BuiltInSurroundings,
  signal: AbortSignal,
): Promise<object> {
  const field = configOf(plan);
  const ref = { namespace: field("namespace"), name: field("name"), key: field("key") };
  const context = field("context");
  if (ref.name === "") throw failed(plan, "PluginFailed", "its configuration has no name");
  if (ref.key === "") throw failed(plan, "PluginFailed", "its configuration has no key");
  const { text, secret } = await secretText(plan, { ref, surroundings }, signal);
  try {
    return kubeconfigUser(text, context);
  } catch (error) {
    if (!(error instanceof KubeconfigUserError)) throw error;
    throw failed(plan, "PluginFailed", `the kubeconfig in ${secret} ${error.message}`);
  }
}

/** Reads fields of the plugin's configuration as Go does: the case of a key does not matter, the last of several keys wins, null counts as absent. */
function configOf(plan: ExecPlan): (name: string) => string {
  if (plan.cluster === undefined) {
    throw failed(plan, "PluginFailed", "its provider needs provideClusterInfo: true");
  }
  const config = plan.cluster["config"];
  if (!isRecord(config)) {
    throw failed(plan, "PluginFailed", "the profile has no client.authentication.k8s.io/exec");
  }
  return (name) => {
    const found = Object.entries(config).findLast(
      ([key, value]) => foldedKey(key) === foldedKey(name) && value !== null,
    );
    const value = found?.[1] ?? "";
    if (typeof value === "string") return value;
    throw failed(plan, "PluginFailed", `${name} in its configuration is not a string`);
  };
}

interface SecretRequest {
  readonly ref: { readonly namespace: string; readonly name: string; readonly key: string };
  readonly surroundings: BuiltInSurroundings;
}

async function secretText(
  plan: ExecPlan,
  { ref, surroundings }: SecretRequest,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly secret: string }> {
  const { name, key } = ref;
  const environment = {
    ...surroundings.environment,
    ...Object.fromEntries(plan.env.map((variable) => [variable.name, variable.value])),
  };
  const namespace = ref.namespace === "" ? await secretNamespace(environment) : ref.namespace;
  // Both come from the profile and become part of a request path and a message.
  if (![namespace, name].every(isName)) {
    throw failed(plan, "PluginFailed", "its configuration does not name a Secret");
  }
  const secret = `Secret ${namespace}/${name}`;
  const object = await secretOf(plan, { namespace, name, surroundings }, signal);
  if (object === undefined) throw failed(plan, "PluginFailed", `${secret} does not exist`);
  const data = isRecord(object["data"]) ? object["data"][key] : undefined;
  if (typeof data !== "string" || data === "") {
    throw failed(plan, "PluginFailed", `${secret} does not have the key`);
  }
  return { text: Buffer.from(data, "base64").toString("utf8"), secret };
}

async function secretOf(
  plan: ExecPlan,
  source: {
    readonly namespace: string;
    readonly name: string;
    readonly surroundings: BuiltInSurroundings;
  },
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { namespace, name, surroundings } = source;
  const { clock, hub } = surroundings;
  if (hub === undefined)
    throw failed(plan, "PluginFailed", "there is no hub to read a Secret from");
  const late = withTimeout(clock, readTimeoutMs, signal);
  try {
    return await hub.get({ resource: knownResource("v1", "Secret"), namespace, name }, {}, late);
  } catch (cause) {
    signal.throwIfAborted();
    const secret = `Secret ${namespace}/${name}`;
    if (!(cause instanceof ApiError) || cause.status !== 403)
      throw failed(plan, "PluginFailed", `${secret} cannot be read`, cause);
    const right = rightText({ verb: "get", group: "", resource: "secrets", namespace });
    const what = `${secret} may not be read: the right to ${right} is missing`;
    throw failed(plan, "PluginFailed", what, cause);
  }
}

function isName(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/.test(text);
}

function failed(plan: ExecPlan, code: Code, what: string, cause?: unknown): FleetError {
  const message = `Exec plugin ${plan.command} of provider ${plan.provider}: ${what}`;
  return new FleetError("AccessProviderFailed", message, { code, cause });
}

const mountedNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/**
 * The namespace from which the official plugins read a Secret when their configuration names none: the first of that of the
 * kubeconfig's current context (unless it is `default`), `POD_NAMESPACE`, that of the ServiceAccount, and `default`.
 * Spec: cluster-inventory.md 4.1.
 */
export async function secretNamespace(
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  const configured = contextNamespace(environment);
  if (configured !== undefined && configured !== "default") return configured;
  const named = environment["POD_NAMESPACE"]?.trim() ?? "";
  if (named !== "") return named;
  const mounted = await readFile(mountedNamespace, "utf8").catch(() => "");
  return mounted.trim() === "" ? "default" : mounted.trim();
}

/** Undefined without a usable kubeconfig. */
function contextNamespace(environment: Readonly<Record<string, string>>): string | undefined {
  try {
    const { files, namespace } = loadKubeconfig({ environment });
    return files.length === 0 ? undefined : namespace;
  } catch (error) {
    if (error instanceof FleetError) return undefined;
    throw error;
  }
}
