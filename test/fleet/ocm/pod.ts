import { mkdir, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";

import type { KubeObject, NamespacedName } from "../../../api/kubernetes.ts";
import type { Cluster } from "../cluster.ts";
import { isRecord, valueAt } from "../json-record.ts";
import { startLastingServer } from "../lasting-server.ts";
import { waitFor } from "../wait-for.ts";
import type { OcmBinary, ProgramDeps } from "./programs.ts";

/** A port on the loopback of a pod, and the Unix socket that it leads to or that leads to it. */
export type PodPort = readonly [port: number, socket: string];

/** What pod-sandbox.ts does. */
export interface PodPlan {
  readonly folder: string;
  /** Names that are loopback. */
  readonly hosts: readonly string[];
  /** Folder with token, ca.crt and namespace. */
  readonly account: string;
  /** Folders that are mounted below /etc. */
  readonly mounts: readonly (readonly [path: string, folder: string])[];
  readonly reaches: readonly PodPort[];
  readonly offers: readonly PodPort[];
  readonly programs: readonly {
    readonly name: string;
    readonly path: string;
    readonly args: readonly string[];
    readonly environment: Readonly<Record<string, string>>;
  }[];
}

/** How the pod of a Deployment is played. */
export interface PodOptions {
  readonly cluster: Cluster;
  readonly deployment: NamespacedName;
  /** Socket of the cluster's API server. */
  readonly apiSocket: string;
  /** What the pod reaches besides its API server. */
  readonly reaches?: readonly PodPort[];
  /** What others reach in the pod. */
  readonly offers?: readonly PodPort[];
  /** Names that are loopback in the pod, besides those that the Deployment gives. */
  readonly hosts?: readonly string[];
}

// By the command of the container.
const programs: Readonly<Record<string, OcmBinary>> = {
  "/manager": "cluster-proxy-addon-manager",
  "/cluster-proxy": "cluster-proxy",
  "/agent": "cluster-proxy-addon-agent",
  "/proxy-server": "konnectivity-server",
  "/proxy-agent": "konnectivity-agent",
  "/msa": "managed-serviceaccount",
};

// All managers and agents have to start before some of these objects are there.
const patience = { timeoutMs: 180_000 };
const sandbox = join(import.meta.dirname, "pod-sandbox.ts");

/**
 * Plays the pod of a Deployment as soon as the Deployment and its Secrets are there: its commands, arguments, variables, Secrets and ServiceAccount,
 * in a network namespace of its own, because some ports of these programs are fixed. Disposing ends it.
 */
export async function startPod(options: PodOptions, deps: ProgramDeps): Promise<AsyncDisposable> {
  const { cluster, deployment: key } = options;
  const { namespace } = key;
  const name = `${cluster.name}-${key.name}`;
  const folder = join(deps.folder, name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const deployment = await waitFor(
    `Deployment ${namespace}/${key.name}`,
    () => cluster.admin.get({ apiVersion: "apps/v1", kind: "Deployment", ...key }),
    patience,
  );
  const template = valueAt(deployment, "spec", "template", "spec");
  const volumes = await writeVolumes(template, { cluster, namespace, folder });
  const account = String(valueAt(template, "serviceAccountName"));
  const containers = recordsAt(template, "containers");
  const plan: PodPlan = {
    folder,
    mounts: containers.flatMap((container) => mountsOf(container, volumes)).filter(isBelowEtc),
    hosts: ["kubernetes.default.svc", ...(options.hosts ?? []), ...hostAliases(template)],
    account: await writeAccount({ namespace, name: account }, { cluster, folder }),
    reaches: [[443, options.apiSocket], ...(options.reaches ?? [])],
    offers: options.offers ?? [],
    programs: containers.map((container) => programOf(container, { volumes, namespace, deps })),
  };
  await Promise.all(plan.offers.map(([, socket]) => rm(socket, { force: true })));
  const planFile = join(folder, "plan.json");
  await writeFile(planFile, JSON.stringify(plan), { mode: 0o600 });
  const namespaces = ["--user", "--map-root-user", "--net", "--mount", "--pid"];
  const server = await startLastingServer(
    {
      title: name,
      binary: "unshare",
      args: [...namespaces, "--fork", "--kill-child", process.execPath, sandbox, planFile],
      cwd: folder,
      logFile: join(folder, "pod.log"),
    },
    deps,
  );
  return { [Symbol.asyncDispose]: () => server.stop() };
}

interface PodFiles {
  readonly cluster: Cluster;
  readonly folder: string;
}

/** Writes the Secrets of the pod; the answer has their folders by the name of the volume. */
async function writeVolumes(
  template: unknown,
  { cluster, namespace, folder }: PodFiles & { readonly namespace: string },
): Promise<ReadonlyMap<string, string>> {
  const folders = recordsAt(template, "volumes").map(async (volume) => {
    const secretName = String(valueAt(volume, "secret", "secretName"));
    const name = String(volume["name"]);
    const path = join(folder, "volumes", name);
    await mkdir(path, { recursive: true });
    const secret = await waitFor(
      `Secret ${namespace}/${secretName}`,
      () => cluster.admin.get({ apiVersion: "v1", kind: "Secret", namespace, name: secretName }),
      patience,
    );
    await writeSecret(secret, path);
    return [name, path] as const;
  });
  return new Map(await Promise.all(folders));
}

async function writeSecret(secret: KubeObject, folder: string): Promise<void> {
  const data = valueAt(secret, "data");
  const files = Object.entries(isRecord(data) ? data : {}).map(([name, value]) =>
    writeFile(join(folder, basename(name)), Buffer.from(String(value), "base64"), { mode: 0o600 }),
  );
  await Promise.all(files);
}

/** What a kubelet puts into a pod for its ServiceAccount. */
async function writeAccount(
  { namespace, name }: NamespacedName,
  { cluster, folder }: PodFiles,
): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const request = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 7_200 },
  };
  const answer = await waitFor(
    `ServiceAccount ${namespace}/${name}`,
    () => cluster.admin.request("POST", path, request),
    patience,
  );
  const account = join(folder, "account");
  await mkdir(account, { recursive: true });
  const write = (file: string, text: string) =>
    writeFile(join(account, file), text, { mode: 0o600 });
  await write("token", String(valueAt(answer, "status", "token")));
  await write("ca.crt", cluster.caPem);
  await write("namespace", namespace);
  return account;
}

interface ContainerDeps {
  readonly volumes: ReadonlyMap<string, string>;
  readonly namespace: string;
  readonly deps: ProgramDeps;
}

function programOf(
  container: Readonly<Record<string, unknown>>,
  { volumes, namespace, deps }: ContainerDeps,
): PodPlan["programs"][number] {
  const [command = "", ...words] = stringsIn(container["command"]);
  const binary = programs[command];
  if (binary === undefined) throw new Error(`No program plays the container command ${command}`);
  const mounts = mountsOf(container, volumes);
  // A path is all of a text, or what follows the = of a flag.
  const moved = (text: string) =>
    mounts
      .reduce((all, [path, folder]) => all.replaceAll(`=${path}/`, `=${folder}/`), `=${text}`)
      .slice(1);
  const variables = recordsAt(container, "env").map(
    ({ name, value }) =>
      [String(name), typeof value === "string" ? moved(value) : namespace] as const,
  );
  return {
    name: String(container["name"]),
    path: deps.binary(binary),
    args: [...words, ...stringsIn(container["args"])].map(moved),
    environment: {
      ...Object.fromEntries(variables),
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: "443",
    },
  };
}

/** Paths of a container, and the folders that are there. */
function mountsOf(
  container: Readonly<Record<string, unknown>>,
  volumes: ReadonlyMap<string, string>,
): PodPlan["mounts"] {
  return recordsAt(container, "volumeMounts").map(({ mountPath, name }) => {
    const folder = volumes.get(String(name));
    if (folder === undefined) throw new Error(`The pod has no volume ${String(name)}`);
    return [String(mountPath).replace(/\/$/, ""), folder];
  });
}

// Some programs know these paths by heart. A folder beside /etc cannot be made without being root.
function isBelowEtc([path]: PodPlan["mounts"][number]): boolean {
  return path.startsWith("/etc/");
}

function hostAliases(template: unknown): readonly string[] {
  return recordsAt(template, "hostAliases").flatMap(({ hostnames }) => stringsIn(hostnames));
}

function recordsAt(value: unknown, field: string): readonly Readonly<Record<string, unknown>>[] {
  const list = valueAt(value, field);
  return Array.isArray(list) ? list.filter(isRecord) : [];
}

function stringsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
