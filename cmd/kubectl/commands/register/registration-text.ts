import type { Manifest } from "../../../../api/kubernetes.ts";
import type { Table } from "../../output/table.ts";
import { registrar } from "../../rights/spoke-objects.ts";
import { hostOf } from "./reachable-server.ts";
import type { RegisterRequest } from "./register-request.ts";
import type { Registration } from "./registration.ts";

/** An object of a registration, on the spoke or on the hub. */
export interface ShownObject {
  readonly cluster: "spoke" | "hub";
  readonly manifest: Manifest;
  /** What it is for. */
  readonly about: string;
}

/** Everything that a registration writes, in the order in which it is written. No object holds the token. */
export function shownObjects(
  registration: Registration,
  { ttlSeconds }: RegisterRequest,
): readonly ShownObject[] {
  const { spoke, token, namespaces, secret, reader, profile, profileStatus } = registration;
  const { server, serverName = hostOf(server) } = registration;
  if (registration.keepsToken) {
    const about = "its labels; token and address stay";
    return [{ cluster: "hub", manifest: labelsManifest(profile), about }];
  }
  const abouts: Readonly<Record<string, string>> = {
    ServiceAccount:
      ttlSeconds === undefined
        ? "the hub's identity"
        : `the hub's identity; its token lives ${durationOf(ttlSeconds)}`,
    Namespace: "for the identity",
    ClusterRoleBinding: "gives the identity the role",
    ClusterRole: "what the controller may do: docs/spoke-role.yaml",
  };
  return [
    ...[...spoke, ...(token === undefined ? [] : [token])].map((manifest) => ({
      cluster: "spoke" as const,
      manifest,
      about: manifest === token ? "a token that stays" : (abouts[manifest.kind] ?? ""),
    })),
    ...namespaces.map((manifest) => ({
      cluster: "hub" as const,
      manifest,
      about: "not there yet",
    })),
    { cluster: "hub", manifest: secret, about: `the token, for provider ${reader.provider}` },
    {
      cluster: "hub",
      manifest: { ...profile, status: profileStatus["status"] },
      about: serverName === hostOf(server) ? server : `${server}, verified as ${serverName}`,
    },
  ];
}

/** A ClusterProfile with its labels alone. */
export function labelsManifest({ apiVersion, kind, metadata }: Manifest): Manifest {
  const { namespace = "", name = "", labels = {} } = metadata;
  return { apiVersion, kind, metadata: { namespace, name, labels } };
}

function durationOf(seconds: number): string {
  if (seconds % 86_400 === 0 && seconds > 86_400) return `${seconds / 86_400}d`;
  return seconds % 3_600 === 0 ? `${seconds / 3_600}h` : `${Math.round(seconds / 60)}m`;
}

/** The table of these objects. */
export function objectsTable(objects: readonly ShownObject[]): Table {
  return {
    headers: ["CLUSTER", "KIND", "NAMESPACE", "NAME", "ABOUT"],
    wraps: true,
    rows: objects.map(({ cluster, manifest: { kind, metadata }, about }) => [
      cluster,
      kind,
      metadata.namespace ?? "<none>",
      metadata.name ?? "",
      about,
    ]),
  };
}

/** A line of `-o name`. */
export function objectName({ manifest: { apiVersion, kind, metadata } }: ShownObject): string {
  const [group = "", version] = apiVersion.split("/");
  const suffix = version === undefined ? "" : `.${group}`;
  return `${kind.toLowerCase()}${suffix}/${metadata.name ?? ""}`;
}

/** Comment in front of each object in YAML. */
export function objectComment({ cluster, manifest }: ShownObject): string {
  const where = cluster === "spoke" ? "On the cluster" : "On the hub";
  if (manifest.kind === "ClusterProfile") {
    return `${where}; status is a subresource: kubectl apply --server-side --subresource=status`;
  }
  const isHubSecret = cluster === "hub" && manifest.kind === "Secret";
  return isHubSecret ? `${where}; ${registrar} adds the token, which is not shown` : where;
}

/** Values for the chart with a provider that `register` can use. */
export const chartValues = `multicluster:
  enabled: true
  credentialsNamespace: fleet-credentials
  accessProvidersConfig:
    providers:
      - name: secretreader
        execConfig:
          apiVersion: client.authentication.k8s.io/v1
          command: builtin:secretreader
          env: [{ name: POD_NAMESPACE, value: fleet-credentials }]
          provideClusterInfo: true
        allowedNamespaces: [fleet]
        requiredConfig: { clusterName: name }
`;
