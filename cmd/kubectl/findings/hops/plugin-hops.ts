import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { isBuiltIn, runBuiltIn } from "../../../../access/plugins/built-in-plugins.ts";
import { type Credential, credentialFacts } from "../../../../access/plugins/credential.ts";
import type { ExecPlan } from "../../../../access/plugins/exec-plan.ts";
import {
  execInfo,
  resolveCommand,
  loaderMissing,
  runExecPlugin,
} from "../../../../access/plugins/exec-plugin.ts";
import { pluginEnvironment } from "../../../../access/plugins/plugin-policy.ts";
import type { ResolvedAccess } from "../../../../access/spokes/resolved-access.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { timestampOf } from "../../../../api/conditions.ts";
import { FleetError } from "../../../../api/errors.ts";
import { redactSecrets } from "../../../../api/foreign-text.ts";
import { credentialExpired, hasSentence } from "../../../../api/sentences.ts";
import { words } from "../../output/steps.ts";
import { itemsAt, stringAt } from "../../selection/fields.ts";
import { fleetFinding } from "../explain-error.ts";
import type { WalkContext } from "../walk.ts";
import { failedBy, finding, type Finding, type HopResult, passedWith } from "./hop.ts";
import { checkSecret } from "./plugin-secret.ts";
import type { FoundFile } from "./provider-hops.ts";

/** Runs the exec plugin, or the built-in reader, as the controller does. */
export async function runPlugin(
  access: ResolvedAccess,
  found: FoundFile,
  here: WalkContext & { readonly signal: AbortSignal },
): Promise<HopResult<Credential>> {
  const { plan } = access;
  const { readers } = found;
  const context =
    readers === undefined || !isBuiltIn(plan.command)
      ? here
      : { ...here, environment: readers.environment };
  const text = [plan.command, ...plan.args.map(redactSecrets)].join(" ");
  const refusal = (await findRefusal(plan, found.from, context)) ?? readerRefusalOf(access, found);
  if (refusal !== undefined) return failedBy(refusal);
  try {
    const credential = await getCredential(plan, context);
    context.onCredential?.(credential);
    return { value: credential, message: text, evidence: evidenceOf(plan) };
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof FleetError)) throw error;
    return failedBy(await explainFailure(error, plan, context), evidenceOf(plan));
  }
}

function getCredential(
  plan: ExecPlan,
  context: WalkContext & { readonly signal: AbortSignal },
): Promise<Credential> {
  const { signal, execTimeoutMs, pluginRoots } = context;
  const surroundings = {
    environment: pluginEnvironment(context.environment),
    clock: { ...systemClock, date: context.now },
    policy: { roots: pluginRoots },
  };
  if (isBuiltIn(plan.command)) {
    return runBuiltIn(plan, { ...surroundings, hub: context.hub }, signal);
  }
  const timeoutMs = Math.min(plan.timeoutMs, execTimeoutMs);
  return runExecPlugin({ ...plan, timeoutMs }, surroundings, signal);
}

/** Evidence with the names of variables only, because their values may be secret. */
function evidenceOf({ env, provider, timeoutMs }: ExecPlan): readonly string[] {
  const names = env.map(({ name }) => name);
  return [
    `provider ${provider}, its time is ${timeoutMs / 1_000} s`,
    ...(names.length === 0 ? [] : [`the provider file sets ${names.join(", ")}`]),
  ];
}

async function explainFailure(
  error: FleetError,
  plan: ExecPlan,
  context: WalkContext & { readonly signal: AbortSignal },
): Promise<Finding> {
  const general = fleetFinding(error);
  const manual = manualStep(plan);
  if (error.code === "PluginNotFound" && error.message.includes("EACCES")) {
    return { ...general, code: "KNF3007", next: [words("chmod", "755", plan.command)] };
  }
  if (error.code === "PluginOutputInvalid" && hasSentence(error.message, [credentialExpired])) {
    const expired = finding("error", "KNF3014", { message: error.sentence });
    return { ...expired, evidence: general.evidence };
  }
  if (error.message.endsWith(loaderMissing)) return { ...general, next: [loaderStep] };
  if (error.code === "PluginTimeout") {
    const evidence = ["the upstream operator has no limit here and would wait for ever"];
    return { ...general, evidence, next: [manual] };
  }
  if (error.code !== "PluginFailed" && error.code !== "PluginOutputInvalid") return general;
  const secret = await checkSecret(plan, context, context.signal);
  const evidence = [error.sentence, ...general.evidence];
  if (secret !== undefined) return { ...secret, evidence: [...secret.evidence, ...evidence] };
  if (error.code === "PluginFailed" && isDenied(evidence)) {
    return finding("error", "KNF3017", { message: "The plugin may not read its Secret", evidence });
  }
  return { ...general, next: [...general.next, manual] };
}

const loaderStep =
  "Use a plugin that is one static program, or give the controller an image that has its interpreter and libraries.";

function isDenied(texts: readonly string[]): boolean {
  return texts.some((text) => /is forbidden: |the right to get secrets .* is missing/.test(text));
}

/** A text without user names and passwords in URLs, such as that of a proxy. */
function withoutLogins(text: string): string {
  return text.replaceAll(/:\/\/[^/@\s"']+@/g, "://");
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function manualStep(plan: ExecPlan): string {
  const names = plan.env.map(({ name }) => name).filter((name) => name !== "KUBECONFIG");
  const kubeconfig = plan.env.find(({ name }) => name === "KUBECONFIG")?.value;
  const isWhole = names.length === 0 && plan.args.every((arg) => redactSecrets(arg) === arg);
  return [
    ...(isWhole ? [] : ["By hand, with what is not shown in place of …:"]),
    ...names.map((name) => `${name}=…`),
    ...(kubeconfig === undefined ? [] : [`KUBECONFIG=${quote(kubeconfig)}`]),
    `KUBERNETES_EXEC_INFO=${quote(withoutLogins(execInfo(plan).trim()))}`,
    words(plan.command),
    ...plan.args.map((arg) => quote(redactSecrets(arg))),
    ">/dev/null",
  ].join(" ");
}

const soonMs = 10 * 60_000;

/** Describes the credential, without the credential itself, and checks when it ends. */
export function describeCredential(credential: Credential, nowMs: number): HopResult<Credential> {
  const { type, subject, issuer, expiresAtMs, digest } = credentialFacts(credential);
  const until =
    expiresAtMs === undefined ? "says no end" : `ends ${timestampOf(new Date(expiresAtMs))}`;
  const text = `${type}${subject === undefined ? "" : ` of ${subject}`}, ${until}`;
  const evidence = [
    `SHA-256 begins with ${digest}`,
    ...(issuer === undefined ? [] : [`issued by ${issuer}`]),
  ];
  const findings: Finding[] = [];
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) {
    findings.push(finding("error", "KNF3014", { message: `The credential ended: ${text}` }));
  } else if (expiresAtMs !== undefined && expiresAtMs - nowMs < soonMs) {
    findings.push(finding("warning", "KNF3020", { message: text }));
  }
  const problem = tokenProblem(credential);
  if (problem !== undefined) findings.push(finding("error", "KNF3011", { message: problem }));
  return { ...passedWith(credential, text, { findings, evidence }), endsAtMs: expiresAtMs };
}

/** Whether the plugin returns the content of a Secret, as both official plugins do, and the built-in readers in their place. */
export function readsSecret({ command, args, provider }: ExecPlan): boolean {
  return [command, ...args, provider].some((text) => text.includes("secretreader"));
}

/** Why no API server accepts a token: API servers read the header `Authorization` up to its second space. Undefined for a usable token. */
function tokenProblem({ authorization }: Credential): string | undefined {
  const token = authorization?.reveal().replace(/^Bearer /, "") ?? "";
  if (/^bearer /i.test(token)) {
    return 'The token itself begins with "Bearer ", which is put in front of it anyway';
  }
  return token.includes(" ")
    ? "The token holds a space, up to which API servers read it"
    : undefined;
}

/** Policy for exec plugins in kubectl's preferences (kuberc, Kubernetes 1.35). */
interface PluginPolicy {
  readonly policy: string;
  readonly allowed: readonly string[];
}

/**
 * Why a plugin may not run on this machine; undefined when it may. The policy of kuberc holds for every command. A command from the cluster also
 * needs `--exec`, and a list of this machine that has the command. Built-in readers are no commands. Security: T-85.
 */
export async function findRefusal(
  { command, args }: ExecPlan,
  from: FoundFile["from"],
  context: PolicyContext,
): Promise<Finding | undefined> {
  if (isBuiltIn(command)) return undefined;
  const { policy, allowed } = await readKubercPolicy(context.environment);
  const path = await resolveCommand(command, context.environment["PATH"] ?? "");
  const isListed = allowed.includes(command) || (path !== undefined && allowed.includes(path));
  if (policy === "DenyAll" || (policy === "Allowlist" && !isListed)) {
    const message = `plugin ${JSON.stringify(command)} not allowed: policy set to ${JSON.stringify(policy)}`;
    const next = ["Change credentialPluginPolicy or credentialPluginAllowlist in kuberc."];
    return finding("error", "KNF3008", { message, next });
  }
  const isOnList = policy === "Allowlist" || context.pluginRoots.length > 0;
  if (from === "machine" || (context.exec && isOnList)) return undefined;
  return finding("warning", "KNF3013", {
    message: `The command came from the cluster and was not run: ${[command, ...args.map(redactSecrets)].join(" ")}`,
    next: [
      "Walk again with --exec and --plugin-root FOLDER, where FOLDER holds the plugin on this machine.",
      "Or name a provider file of this machine with --clusterprofile-provider-file.",
    ],
  });
}

/**
 * Why a built-in reader may not follow a provider file of the hub: no ClusterRoleBinding vouches for the file, or the ClusterProfile leads to a Secret
 * that the controller does not read. A reader has the rights of this user, and the server of the ClusterProfile gets what it reads. Security: T-16.
 */
function readerRefusalOf(
  access: ResolvedAccess,
  { from, readers }: Pick<FoundFile, "from" | "readers">,
): Finding | undefined {
  const { command } = access.plan;
  if (from === "machine" || !isBuiltIn(command)) return undefined;
  const message =
    readers === undefined
      ? `The reader ${command} came from a file of the hub that no ClusterRoleBinding of the chart vouches for, and was not used`
      : readers.refusal(access);
  if (message === undefined) return undefined;
  const next = ["Name a provider file of this machine with --clusterprofile-provider-file."];
  return finding("warning", "KNF3013", { message, next });
}

type PolicyContext = Pick<WalkContext, "environment" | "exec" | "pluginRoots">;

async function readKubercPolicy(environment: WalkContext["environment"]): Promise<PluginPolicy> {
  const named = environment["KUBERC"] ?? "";
  const home = environment["HOME"] ?? "";
  const path = named === "" ? join(home, ".kube", "kuberc") : named;
  if (named === "off" || (named === "" && home === "")) return { policy: "", allowed: [] };
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return { policy: "", allowed: [] };
  const { parseAllDocuments } = await import("yaml");
  const documents = parseAllDocuments(text, { logLevel: "silent" });
  const preferences: unknown[] = "empty" in documents ? [] : documents.map((one) => one.toJS());
  const stated = preferences.find((one) => stringAt(one, "credentialPluginPolicy") !== null);
  return {
    policy: stringAt(stated, "credentialPluginPolicy") ?? "",
    allowed: itemsAt(stated, "credentialPluginAllowlist").flatMap(
      (entry) => stringAt(entry, "command") ?? stringAt(entry, "name") ?? [],
    ),
  };
}
