import { withTimeout } from "../../../../access/deadline.ts";
import { unlessDenied } from "../../../../access/kube/api-error.ts";
import { recordAt, textAt } from "../../../../api/fields.ts";
import { knownResource } from "../../../../api/resources.ts";
import { spokeRoleName } from "../../../../installation/spoke-role.ts";
import type { Right } from "../can-i/access-review.ts";
import { missingRights, readNamespace } from "./missing-rights.ts";
import { certificateNames, onSpoke, type OpenSpoke, serverAddresses } from "./open-spoke.ts";
import type { RegisterRequest } from "./register-request.ts";
import type { SpokeFacts } from "./registration-facts.ts";
import { spokeNamespace } from "./spoke-objects.ts";

const rbac = "rbac.authorization.k8s.io";

/** Reads what a registration needs to know of the cluster. Throws UsageError when it does not answer. */
export async function readSpokeFacts(
  request: RegisterRequest,
  spoke: OpenSpoke,
  signal: AbortSignal,
): Promise<SpokeFacts> {
  const { connection, cluster, timeoutMs } = spoke;
  const { client } = connection;
  const late = withTimeout(timeoutMs, signal);
  const account = {
    resource: knownResource("v1", "ServiceAccount"),
    namespace: spokeNamespace,
    name: request.account,
  };
  const role = { resource: knownResource(`${rbac}/v1`, "ClusterRole"), name: spokeRoleName };
  const work = Promise.all([
    client.request("GET", "/version", undefined, late),
    connection.isWorking(late),
    readNamespace("kube-system", client, late),
    readNamespace(spokeNamespace, client, late),
    unlessDenied(client.get(account, { metadataOnly: true }, late)),
    unlessDenied(client.get(role, { metadataOnly: true }, late)),
    missingRights(spokeRights(request), client, late),
    serverAddresses(cluster.server),
    certificateNames(spoke, late),
  ]);
  const [version, isReady, system, namespace, found, foundRole, missing, addresses, names] =
    await onSpoke(spoke, work);
  return {
    cluster,
    addresses,
    certificateNames: names,
    uid: system?.metadata.uid ?? "",
    kubernetes: textAt(recordAt(version), "gitVersion") ?? "",
    isReady,
    account: found,
    namespace,
    role: foundRole,
    missingRights: missing,
  };
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
