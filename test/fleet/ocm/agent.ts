import { join } from "node:path";

import type { KubeObject } from "../../../api/kubernetes.ts";
import type { Cluster } from "../cluster.ts";
import { conditionOf } from "../json-record.ts";
import { freePort } from "../ports.ts";
import { waitFor } from "../wait-for.ts";
import { installSpokeCrds } from "./crds.ts";
import { createNamespace } from "./hub.ts";
import { startProgram, type ProgramDeps } from "./programs.ts";

const agentNamespace = "open-cluster-management-agent";

/** What a bootstrap token may do on the hub. Source: OCM's chart of the cluster manager. */
const bootstrapRules = [
  { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] },
  {
    apiGroups: ["certificates.k8s.io"],
    resources: ["certificatesigningrequests"],
    verbs: ["create", "get", "list", "watch"],
  },
  {
    apiGroups: ["cluster.open-cluster-management.io"],
    resources: ["managedclusters"],
    verbs: ["get", "create", "list", "watch"],
  },
  {
    apiGroups: ["cluster.open-cluster-management.io"],
    resources: ["managedclustersets/join"],
    verbs: ["create"],
  },
];

/** The registration agent of a spoke, which asks the hub to be let in. */
export interface Agent extends AsyncDisposable {
  /** Starts the agent that carries out ManifestWorks, as administrator of the spoke or by another kubeconfig. The hub must have accepted the spoke. */
  startWork(kubeconfig?: string): Promise<void>;
}

/** Starts what `clusteradm join` starts: the registration agent, with a bootstrap token of the hub. */
export async function startAgent(hub: Cluster, spoke: Cluster, deps: ProgramDeps): Promise<Agent> {
  await installSpokeCrds(spoke);
  await createNamespace(spoke, agentNamespace);
  await createNamespace(spoke, "open-cluster-management-agent-addon");
  const { token } = await hub.serviceAccountToken({
    namespace: "open-cluster-management",
    name: "agent-registration-bootstrap",
    rules: bootstrapRules,
  });
  const bootstrap = await hub.writeKubeconfig(`bootstrap-${spoke.name}.kubeconfig`, {
    identity: { token },
  });
  const hubFolder = join(deps.folder, `${spoke.name}-hub`);
  const common = async (): Promise<readonly string[]> => [
    "agent",
    `--namespace=${agentNamespace}`,
    "--disable-leader-election",
    `--spoke-cluster-name=${spoke.name}`,
    `--hub-kubeconfig-dir=${hubFolder}`,
    `--listen=127.0.0.1:${await freePort()}`,
  ];
  await using undo = new AsyncDisposableStack();
  const running = undo.use(new AsyncDisposableStack());
  const start = async (binary: "ocm-registration" | "ocm-work", args: readonly string[]) => {
    const command = { binary, args: [...(await common()), ...args] };
    const server = await startProgram(`${spoke.name}-${binary}`, command, deps);
    running.defer(() => server.stop());
  };
  await start("ocm-registration", [
    `--kubeconfig=${spoke.adminKubeconfigPath}`,
    `--bootstrap-kubeconfig=${bootstrap}`,
    `--spoke-external-server-urls=${spoke.server}`,
    "--feature-gates=ClusterProperty=true",
    "--cluster-healthcheck-period=10s",
  ]);
  undo.move();
  return {
    startWork: (kubeconfig = spoke.adminKubeconfigPath) =>
      start("ocm-work", [
        `--kubeconfig=${kubeconfig}`,
        "--workload-source-driver=kube",
        `--workload-source-config=${join(hubFolder, "kubeconfig")}`,
        "--status-sync-interval=5s",
      ]),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const managedCluster = {
  apiVersion: "cluster.open-cluster-management.io/v1",
  kind: "ManagedCluster",
};
const csrPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/** Does what `clusteradm accept` does: approves the spoke's request for a certificate, and accepts it. Waits until it is available. */
export async function accept({ admin }: Cluster, spoke: string): Promise<KubeObject> {
  const key = { ...managedCluster, name: spoke };
  const request = await waitFor(`the certificate request of ${spoke}`, async () => {
    const requests = await admin.list({
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      labelSelector: `open-cluster-management.io/cluster-name=${spoke}`,
    });
    return requests[0];
  });
  // An agent that has its certificate does not write the ManagedCluster any more.
  await waitFor(`ManagedCluster ${spoke}`, () => admin.get(key));
  const condition = { type: "Approved", status: "True", reason: "Accepted", message: "By a test" };
  await admin.request("PUT", `${csrPath}/${request.metadata.name}/approval`, {
    ...request,
    status: { conditions: [condition] },
  });
  await admin.patch(key, { spec: { hubAcceptsClient: true } });
  return waitFor(`ManagedCluster ${spoke} to be available`, async () => {
    const found = await admin.get(key);
    return conditionOf(found, "ManagedClusterConditionAvailable")?.status === "True" && found;
  });
}
