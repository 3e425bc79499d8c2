import type { AdminClient } from "./admin-client.ts";
import { valueAt } from "./json-record.ts";

/** A rule of a Role or ClusterRole. */
export interface PolicyRule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

/** A ServiceAccount and what it may do. */
export interface TokenOptions {
  readonly namespace: string;
  readonly name: string;
  /** ClusterRoles, which must exist, to bind cluster-wide. */
  readonly clusterRoles?: readonly string[];
  /** Rules that hold in the whole cluster. */
  readonly rules?: readonly PolicyRule[];
  /** Rules that hold in the account's namespace only. */
  readonly namespaceRules?: readonly PolicyRule[];
  /** Default 24 hours; the server wants 600 at least. */
  readonly expirationSeconds?: number;
}

/** A bearer token of a ServiceAccount. */
export interface ServiceAccountToken {
  readonly token: string;
  readonly expiresAt: Date;
}

/** Makes namespace, account, roles and bindings where they are missing, and asks for a new token. */
export async function requestToken(
  admin: AdminClient,
  options: TokenOptions,
): Promise<ServiceAccountToken> {
  const { namespace, name, expirationSeconds = 86_400 } = options;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await admin.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name } });
  await grant(admin, options);
  const answer = await admin.request(
    "POST",
    `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds },
    },
  );
  const token = valueAt(answer, "status", "token");
  const expiry = valueAt(answer, "status", "expirationTimestamp");
  if (typeof token !== "string" || typeof expiry !== "string") {
    throw new Error("The server answered a TokenRequest without a token");
  }
  return { token, expiresAt: new Date(expiry) };
}

async function grant(admin: AdminClient, options: TokenOptions): Promise<void> {
  const { namespace, name, clusterRoles = [], rules, namespaceRules } = options;
  const ownRole = `test:${namespace}:${name}`;
  const apiVersion = `${rbac}/v1`;
  if (rules !== undefined) {
    await admin.apply({ apiVersion, kind: "ClusterRole", metadata: { name: ownRole }, rules });
  }
  if (namespaceRules !== undefined) {
    const metadata = { namespace, name: ownRole };
    await admin.apply({ apiVersion, kind: "Role", metadata, rules: namespaceRules });
    await bind(admin, "Role", { ...options, role: ownRole });
  }
  for (const role of rules === undefined ? clusterRoles : [...clusterRoles, ownRole]) {
    await bind(admin, "ClusterRole", { ...options, role });
  }
}

const rbac = "rbac.authorization.k8s.io";

async function bind(
  admin: AdminClient,
  kind: "ClusterRole" | "Role",
  subject: { readonly namespace: string; readonly name: string; readonly role: string },
): Promise<void> {
  const { namespace, name, role } = subject;
  await admin.apply({
    apiVersion: `${rbac}/v1`,
    kind: `${kind}Binding`,
    metadata: {
      name: `test:${namespace}:${name}:${role}`,
      ...(kind === "Role" ? { namespace } : {}),
    },
    roleRef: { apiGroup: rbac, kind, name: role },
    subjects: [{ kind: "ServiceAccount", namespace, name }],
  });
}
