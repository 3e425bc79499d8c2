import { rm } from "node:fs/promises";
import { join } from "node:path";

import type { KubeObject } from "../../api/kubernetes.ts";
import type { KnativeBinary } from "../fleet/binary-catalogue.ts";
import type { Cluster } from "../fleet/cluster.ts";
import { valueAt } from "../fleet/json-record.ts";
import { startRelay } from "../fleet/relay.ts";
import { startServer } from "../fleet/server-process.ts";
import { waitFor } from "../fleet/wait-for.ts";
import type { Watchdog } from "../fleet/watchdog.ts";

/** A Deployment of Knative that is played by the program of its image. */
export interface KnativePod {
  readonly binary: KnativeBinary;
  readonly namespace: string;
  readonly name: string;
  /** Name of its Service, where the API server calls it. */
  readonly service?: string;
}

const serving = "knative-serving";
const eventing = "knative-eventing";

export const knativePods: readonly KnativePod[] = [
  { binary: "knative-serving-webhook", namespace: serving, name: "webhook", service: "webhook" },
  { binary: "knative-serving-controller", namespace: serving, name: "controller" },
  {
    binary: "knative-eventing-webhook",
    namespace: eventing,
    name: "eventing-webhook",
    service: "eventing-webhook",
  },
  { binary: "knative-eventing-controller", namespace: eventing, name: "eventing-controller" },
];

export interface PodDeps {
  readonly cluster: Cluster;
  readonly binary: (name: KnativeBinary) => string;
  readonly watchdog: Watchdog;
  /** Short, because it has Unix sockets. */
  readonly folder: string;
}

const sandbox = join(import.meta.dirname, "sandbox.ts");
const apiPort = 6_443;
const startMs = 300_000;

/**
 * Starts Knative's own program in the place of a Deployment's pod, as soon as that is there: its environment, its ServiceAccount, and a network namespace in which all of Knative's
 * programs may listen on the same ports. Disposing ends it.
 */
export async function startKnativePod(pod: KnativePod, deps: PodDeps): Promise<AsyncDisposable> {
  const { cluster, binary, watchdog, folder } = deps;
  const index = knativePods.indexOf(pod);
  // Not loopback: programs refuse that as the address of a pod.
  const address = `10.255.0.${index + 1}`;
  const deployment = await waitFor(
    `Deployment ${pod.namespace}/${pod.name}`,
    () =>
      cluster.admin.get({
        apiVersion: "apps/v1",
        kind: "Deployment",
        namespace: pod.namespace,
        name: pod.name,
      }),
    { timeoutMs: startMs },
  );
  const environment = await environmentOf(deployment, { pod, cluster, address });
  const KUBECONFIG = await cluster.writeKubeconfig(`${pod.binary}.kubeconfig`, {
    identity: { token: await tokenOf(deployment, deps) },
    server: `https://127.0.0.1:${apiPort}`,
  });
  await using undo = new AsyncDisposableStack();
  const apiSocket = join(folder, `api-${index}`);
  const webhookSocket = join(folder, `webhook-${index}`);
  await Promise.all([apiSocket, webhookSocket].map((path) => rm(path, { force: true })));
  const port = Number(new URL(cluster.server).port);
  undo.use(await startRelay(() => ({ host: "127.0.0.1", port }), { path: apiSocket }));
  const variables = Object.entries({ ...environment, KUBECONFIG, POD_IP: address });
  const args = [
    "--net",
    "--pid",
    "--fork",
    "--kill-child",
    "env",
    "-i",
    `PATH=${process.env["PATH"] ?? ""}`,
    ...variables.map(([name, value]) => `${name}=${value}`),
    process.execPath,
    sandbox,
    binary(pod.binary),
    address,
    `${apiPort}`,
    apiSocket,
    webhookSocket,
  ];
  const title = pod.binary;
  const logFile = join(folder, `${pod.binary}.log`);
  const command = { title, binary: "unshare", args, cwd: folder, logFile };
  const server = await startServer(command, watchdog);
  undo.defer(() => server.stop());
  if (pod.service !== undefined) {
    const relay = undo.use(await startRelay(() => ({ path: webhookSocket })));
    const service = { namespace: pod.namespace, name: pod.service };
    const route = () => cluster.routeService(service, relay.port).then(() => true);
    await waitFor(`a route to Service ${service.name}`, route, { timeoutMs: startMs });
  }
  const running = undo.move();
  return { [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** The variables of the first container, with what Kubernetes would put into them. */
async function environmentOf(
  deployment: KubeObject,
  { pod, cluster, address }: Pick<PodDeps, "cluster"> & { pod: KnativePod; address: string },
): Promise<Readonly<Record<string, string>>> {
  const variables = valueAt(deployment, "spec", "template", "spec", "containers", 0, "env");
  const fields: Readonly<Record<string, string>> = {
    "metadata.name": `${pod.name}-0`,
    "metadata.namespace": pod.namespace,
    "status.podIP": address,
  };
  const found: [string, string][] = [];
  for (const variable of Array.isArray(variables) ? variables : []) {
    const field = valueAt(variable, "valueFrom", "fieldRef", "fieldPath");
    const map = valueAt(variable, "valueFrom", "configMapKeyRef");
    const value =
      typeof field === "string" ? (fields[field] ?? "unknown") : valueAt(variable, "value");
    const text = map === undefined ? value : await textIn(map, pod.namespace, cluster);
    found.push([String(valueAt(variable, "name")), typeof text === "string" ? text : ""]);
  }
  return Object.fromEntries(found);
}

async function textIn(reference: unknown, namespace: string, { admin }: Cluster): Promise<unknown> {
  const name = String(valueAt(reference, "name"));
  const map = await admin.get({ apiVersion: "v1", kind: "ConfigMap", namespace, name });
  return valueAt(map, "data", String(valueAt(reference, "key")));
}

async function tokenOf(deployment: KubeObject, { cluster }: PodDeps): Promise<string> {
  const { namespace } = deployment.metadata;
  const account = String(valueAt(deployment, "spec", "template", "spec", "serviceAccountName"));
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  const request = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 7_200 },
  };
  const asked = () => cluster.admin.request("POST", path, request);
  const answer = await waitFor(`ServiceAccount ${account}`, asked, { timeoutMs: startMs });
  return String(valueAt(answer, "status", "token"));
}
