import { unlessDenied } from "../../../../access/kube/api-error.ts";
import type { ObjectRef } from "../../../../access/kube/kube-client.ts";
import { type Right, rightTexts } from "../../../../access/kube/missing-right.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { listAnchors } from "../../../../controller/apply/anchor/list-anchors.ts";
import { spokeRoleName } from "../../../../installation/spoke-role.ts";
import { missingRights, NeededReads } from "../../rights/missing-rights.ts";
import {
  isTokenSecretOf,
  type PresentObjects,
  registrarSelector,
  spokeNamespace,
} from "../../rights/spoke-objects.ts";
import { readKubernetesVersion } from "../../spokes/kubernetes-version.ts";
import { certificateNames, onSpoke, type OpenSpoke, serverAddresses } from "./open-spoke.ts";
import type { RegisterRequest } from "./register-request.ts";
import type { SpokeFacts } from "./registration-facts.ts";

const rbac = "rbac.authorization.k8s.io";
const tokensRef = {
  resource: knownResource("v1", "Secret"),
  namespace: spokeNamespace,
  labelSelector: registrarSelector,
};

/** Reads what a registration needs to know of the cluster. Throws UsageError when it does not answer. */
export async function readSpokeFacts(
  request: RegisterRequest,
  spoke: OpenSpoke,
  signal: AbortSignal,
): Promise<SpokeFacts> {
  const { connection, cluster, timeoutMs } = spoke;
  const { client } = connection;
  const late = withTimeout(systemClock, timeoutMs, signal);
  const reads = new NeededReads(client);
  const work = Promise.all([
    readKubernetesVersion(client, late),
    connection.isWorking(late),
    reads.namespace("kube-system", late),
    readPresent(request, reads, late),
    listAnchors(client, late),
    unlessDenied(client.list(tokensRef, { metadataOnly: true }, late)),
    missingRights(spokeRights(request), client, late),
    serverAddresses(cluster.server),
    certificateNames(spoke, late),
  ]);
  const [version, isReady, system, present, anchors, secrets, missing, addresses, names] =
    await onSpoke(spoke, work);
  return {
    cluster,
    addresses,
    certificateNames: names,
    uid: system?.metadata.uid ?? "",
    kubernetes: version ?? "",
    isReady,
    ...present,
    anchors,
    tokens: (secrets?.items ?? [])
      .filter((secret) => isTokenSecretOf(secret, request.account))
      .map((secret) => ({ ...secret, apiVersion: "v1", kind: "Secret" })),
    missingRights: rightTexts([...reads.denied, ...missing]),
  };
}

/** Reads what is there of the objects that the registration would apply. */
async function readPresent(
  { account: name }: RegisterRequest,
  reads: NeededReads,
  signal: AbortSignal,
): Promise<PresentObjects> {
  const get = (ref: ObjectRef): Promise<KubeObject | undefined> => reads.get(ref, {}, signal);
  const accounts = knownResource("v1", "ServiceAccount");
  const [namespace, account, role, binding] = await Promise.all([
    reads.namespace(spokeNamespace, signal),
    get({ resource: accounts, namespace: spokeNamespace, name }),
    get({ resource: knownResource(`${rbac}/v1`, "ClusterRole"), name: spokeRoleName }),
    get({ resource: knownResource(`${rbac}/v1`, "ClusterRoleBinding"), name }),
  ]);
  return { namespace, account, role, binding };
}

/** The rights that `register` needs on the cluster. The API server itself refuses to give away more than the caller has. */
function spokeRights({ ttlSeconds }: RegisterRequest): readonly Right[] {
  const namespace = spokeNamespace;
  const mint = ttlSeconds === undefined ? "secrets" : "serviceaccounts/token";
  return [
    ...["create", "patch"].flatMap((verb) => [
      { group: "", resource: "namespaces", verb },
      { group: "", resource: "serviceaccounts", verb, namespace },
      { group: rbac, resource: "clusterroles", verb },
      { group: rbac, resource: "clusterrolebindings", verb },
    ]),
    { group: "", resource: mint, verb: "create", namespace },
    // Tokens that stay are read from their Secret. Old ones are looked for in any case.
    ...["get", "list", "delete"].map((verb) => ({
      group: "",
      resource: "secrets",
      verb,
      namespace,
    })),
  ];
}
