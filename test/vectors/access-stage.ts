import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { ResolvedAccess } from "../../access/spokes/resolved-access.ts";
import { FleetError } from "../../api/errors.ts";
import { startSocksStub } from "../access/http/socks-stub.ts";
import { startProxyStub } from "../access/proxy-stub.ts";
import { type AccessCase, fieldsOf, listOf, textOf } from "./access-cases.ts";
import { isProfile, loadedFile, resolveCase } from "./access-resolution.ts";
import { CaseClient, MovingClock, runSteps, type StepOutcome } from "./access-run.ts";
import type { RecordedIdentities } from "./recorded-identities.ts";
import { type PluginInput, prepareRecordedPlugin } from "./recorded-plugin.ts";
import { type RecordedServer, type SeenRequest, startRecordedServer } from "./recorded-server.ts";

/** What came of a case that is run. */
export interface RunResult {
  /** Why there is no client, if so. */
  readonly refused?: FleetError;
  readonly relaxed: readonly string[];
  readonly steps: readonly StepOutcome[];
  readonly requests: readonly SeenRequest[];
  readonly elsewhere: readonly SeenRequest[];
  readonly proxied: number;
  readonly pluginRuns: number;
  readonly inputs: readonly PluginInput[];
  /** Folder that stands for `/`. */
  readonly root: string;
}

/** Sets the stage of a case, runs it, and clears everything away. */
export async function runAccessCase(
  one: AccessCase,
  identities: RecordedIdentities,
  signal: AbortSignal,
): Promise<RunResult> {
  const root = await mkdtemp(join(tmpdir(), "knfleet-vectors-"));
  const before = process.cwd();
  await using stage = new AsyncDisposableStack();
  stage.defer(async () => {
    process.chdir(before);
    await rm(root, { recursive: true, force: true });
  });
  const { server, elsewhere, proxy } = await startServers(one, identities, stage);
  const file = await loadedFile(one, signal);
  const nothing = { relaxed: [], steps: [], requests: [], elsewhere: [], proxied: 0, inputs: [] };
  if (file instanceof FleetError) return { ...nothing, refused: file, pluginRuns: 0, root };
  const placed = { server, proxyPort: proxy.port, identities };
  const resolved = profilesOf(one, placed).map((profile) => {
    if (!isProfile(profile)) throw new Error("The case has no profile");
    return resolveCase(profile, file);
  });
  const command = resolved[0]?.access?.plan.command ?? "plugin";
  const { pems } = identities;
  const plugin = await prepareRecordedPlugin(one, { root, pems, command });
  process.chdir(join(root, "w", "cwd"));
  const refused = resolved.find(({ error }) => error !== undefined);
  const { relaxed = [] } = resolved[0] ?? {};
  if (refused?.error !== undefined) {
    return { ...nothing, relaxed, refused: refused.error, pluginRuns: 0, root };
  }
  const clock = new MovingClock(plugin);
  const environment = {
    ...parentEnvironment(root),
    ...moved(fieldsOf(one.input["parentEnv"]), root),
  };
  const clients = new Map<string, CaseClient>();
  const clientOf = (index: number): CaseClient => {
    const access = resolved[index]?.access;
    if (access === undefined) throw new Error("There is no such profile");
    const { namespace, name } = access.profile;
    // As the connections of spokes: one for a profile and a fingerprint.
    const key = `${namespace}/${name} ${access.fingerprint}`;
    const known = clients.get(key);
    if (known !== undefined) return known;
    const client = stage.use(
      new CaseClient(below(root, one, access), { plugin, clock, environment }),
    );
    clients.set(key, client);
    return client;
  };
  const steps = await runSteps(one.input["steps"], { clientOf, clock }, signal);
  return {
    relaxed,
    steps,
    root,
    requests: [...server.requests],
    elsewhere: [...elsewhere.requests],
    proxied: proxy.asked.length,
    pluginRuns: await plugin.runs(),
    inputs: await plugin.inputs(),
  };
}

interface Servers {
  readonly server: RecordedServer;
  /** Where `server` sends its clients, when the case says so. */
  readonly elsewhere: RecordedServer;
  readonly proxy: { readonly port: number; readonly asked: readonly unknown[] };
}

async function startServers(
  { input }: AccessCase,
  { authority, servers }: RecordedIdentities,
  stage: AsyncDisposableStack,
): Promise<Servers> {
  const settings = fieldsOf(input["server"]);
  const identity = servers[textOf(settings["cert"]) || "usual"];
  if (identity === undefined) throw new Error("The case has an unknown certificate");
  const make = { settings, identity, clientAuthority: authority };
  const elsewhere = stage.use(await startRecordedServer({ ...make, settings: {} }));
  const redirectTo = `https://localhost:${elsewhere.port}/final`;
  const redirect = settings["redirectToOtherHost"] === true ? { redirectTo } : {};
  const server = stage.use(await startRecordedServer({ ...make, ...redirect }));
  if (settings["proxy"] === "socks5") {
    return { server, elsewhere, proxy: stage.use(await startSocksStub(socksRules(settings))) };
  }
  const proxyIdentity = settings["proxy"] === "https" ? servers["usual"] : undefined;
  const proxy = stage.use(await startProxyStub(200, proxyIdentity));
  return { server, elsewhere, proxy };
}

function socksRules(settings: Readonly<Record<string, unknown>>): { readonly login?: string } {
  const login = textOf(settings["proxyUserPassword"]);
  return login === "" ? {} : { login };
}

function parentEnvironment(root: string): Readonly<Record<string, string>> {
  return {
    PATH: `${root}/p:/usr/bin:/bin`,
    PARENT_ONLY: "yes",
    KUBERNETES_EXEC_INFO: "from-parent",
  };
}

function moved(
  environment: Readonly<Record<string, unknown>>,
  root: string,
): Readonly<Record<string, string>> {
  const entries = Object.entries(environment);
  return Object.fromEntries(
    entries.map(([name, value]) => [
      name,
      name === "PATH" ? movedPath(String(value), root) : String(value),
    ]),
  );
}

function movedPath(path: string, root: string): string {
  return path.replaceAll(/(?<=^|:)\/(?=[pw](?:\/|:|$))/g, `${root}/`);
}

/** The plan with `/p` and `/w` below a folder, and the settings that a case changes by hand. */
function below(root: string, { input }: AccessCase, access: ResolvedAccess): ResolvedAccess {
  const { plan } = access;
  const override = fieldsOf(input["restConfigOverride"]);
  const installHint = textOf(override["installHint"]) || plan.installHint;
  const env = plan.env.map(({ name, value }) => ({
    name,
    value: name === "PATH" ? movedPath(value, root) : value,
  }));
  return { ...access, plan: { ...plan, env, installHint, command: movedPath(plan.command, root) } };
}

interface Placed {
  readonly server: RecordedServer;
  readonly proxyPort: number;
  readonly identities: RecordedIdentities;
}

/** The profiles with address, certificate authority, proxy and paddings of the stage. */
function profilesOf({ input }: AccessCase, placed: Placed): readonly unknown[] {
  const settings = fieldsOf(input["server"]);
  const override = fieldsOf(input["restConfigOverride"]);
  const changes = {
    ...(settings["none"] === true ? {} : { server: serverOf(settings, placed.server.port) }),
    ...caOf(input, placed.identities),
    ...proxyOf(settings, placed.proxyPort),
    ...(typeof override["serverName"] === "string"
      ? { "tls-server-name": override["serverName"] }
      : {}),
    ...(override["disableCompression"] === true ? { "disable-compression": true } : {}),
    ...(override["insecure"] === true ? { "insecure-skip-tls-verify": true } : {}),
  };
  const pad = Number(input["configPadLength"] ?? 0);
  return listOf(input["profiles"]).map((profile) => {
    const status = fieldsOf(fieldsOf(profile)["status"]);
    const accessProviders = listOf(status["accessProviders"]).map((entry) => {
      const cluster = { ...fieldsOf(fieldsOf(entry)["cluster"]), ...changes };
      return { ...fieldsOf(entry), cluster: pad > 0 ? padded(cluster, pad) : cluster };
    });
    return { ...fieldsOf(profile), status: { ...status, accessProviders } };
  });
}

function serverOf(settings: Readonly<Record<string, unknown>>, port: number): string {
  const form = textOf(settings["hostForm"]);
  const host = `${form.startsWith("localhost") ? "localhost" : "127.0.0.1"}:${port}`;
  if (form.includes("without scheme")) return host;
  const scheme = settings["http"] === true ? "http" : "https";
  return `${scheme}://${host}${textOf(settings["pathPrefix"])}`;
}

function caOf(
  input: AccessCase["input"],
  { authority, servers, unrelatedPem }: RecordedIdentities,
): Readonly<Record<string, string>> {
  const kind = textOf(input["ca"]) || "ca1";
  const leaf = servers[textOf(fieldsOf(input["server"])["cert"]) || "usual"]?.certificatePem ?? "";
  const pem = {
    ca1: authority.certificatePem,
    leaf,
    bundle: leaf + authority.certificatePem,
    self: servers["self"]?.certificatePem ?? "",
    ca2: unrelatedPem,
  }[kind];
  if (pem === undefined) return {};
  const text = `${"padding\n".repeat(Math.max(0, Number(input["caPadTo"] ?? 0) - pem.length) / 8)}${pem}`;
  return { "certificate-authority-data": Buffer.from(text).toString("base64") };
}

function proxyOf(
  settings: Readonly<Record<string, unknown>>,
  port: number,
): Readonly<Record<string, string>> {
  const kind = textOf(settings["proxy"]);
  if (kind === "" || settings["proxyFromEnvironment"] === true) return {};
  const login = textOf(settings["proxyUserPassword"]);
  return { "proxy-url": `${kind}://${login === "" ? "" : `${login}@`}127.0.0.1:${port}` };
}

function padded(cluster: Readonly<Record<string, unknown>>, length: number): unknown {
  const extensions = listOf(cluster["extensions"]).map((entry) => ({
    ...fieldsOf(entry),
    extension: { pad: "x".repeat(length) },
  }));
  return { ...cluster, extensions };
}
