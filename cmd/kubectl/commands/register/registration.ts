import {
  accessEntry,
  credentialKeys,
  type CredentialSecret,
  profileManifest,
  type ProfileSource,
  profileStatusManifest,
} from "../../../../access/profiles/profile-objects.ts";
import type { AccessCluster, ClusterProfile } from "../../../../api/cluster-profile.ts";
import { recordAt } from "../../../../api/fields.ts";
import type { KubeObject, Manifest } from "../../../../api/kubernetes.ts";
import {
  idOf,
  profileAnnotation,
  registeredAnnotations,
  registrar,
  registrarLabel,
  spokeManifests,
  spokeNamespace,
  tokenSecret,
} from "../../rights/spoke-objects.ts";
import { type ChosenReader, chooseReader } from "./choose-reader.ts";
import { keepsToken, statedServer, toldAnnotations } from "./earlier-registration.ts";
import { otherProfiles, traitsOf, unknownProfiles } from "./known-cluster.ts";
import { reachableServer, type Refusal } from "./reachable-server.ts";
import { refusedRegistration, refusedSecret } from "./refused-registration.ts";
import type { RegisterRequest } from "./register-request.ts";
import type { HubFacts, SpokeFacts } from "./registration-facts.ts";

/** What a registration writes. */
export interface Registration {
  /** Objects to apply on the spoke. */
  readonly spoke: readonly Manifest[];
  /** The Secret that gets a token that stays; undefined for a token of `ttlSeconds`. */
  readonly token: Manifest | undefined;
  /** Only the labels of the ClusterProfile are written; the token and everything else stay. */
  readonly keepsToken: boolean;
  /** Namespaces to apply on the hub. */
  readonly namespaces: readonly Manifest[];
  /** The Secret for the credential, without it. */
  readonly secret: Manifest;
  readonly reader: ChosenReader;
  readonly profile: Manifest;
  readonly profileStatus: Manifest;
  readonly server: string;
  /** The name that the certificate of the server is verified with, where it is not that of the address. */
  readonly serverName: string | undefined;
  /** Whether this machine reaches the cluster under the address of the profile. */
  readonly isReachedHere: boolean;
  readonly warnings: readonly string[];
  /** What was read of the objects that are there already. */
  readonly present: Present;
}

interface Present {
  /** By kind. */
  readonly spoke: Readonly<Record<string, KubeObject | undefined>>;
  /** Metadata of the Secrets with older tokens. */
  readonly tokens: readonly KubeObject[];
  readonly secret: KubeObject | undefined;
  readonly profile: KubeObject | undefined;
}

/** What is known before a registration. */
export interface RegistrationFacts {
  readonly hub: HubFacts;
  readonly spoke: SpokeFacts;
}

/** Plans a registration, or says why it is refused: all reasons at once. */
export function planRegistration(
  asked: RegisterRequest,
  facts: RegistrationFacts,
  clock: { readonly now: Date; readonly suffix: string },
): Registration | readonly Refusal[] {
  const { hub, spoke } = facts;
  const address = statedServer(asked, facts);
  const request = address === undefined ? asked : { ...asked, server: address };
  const { context, profile } = request;
  const stated = address === undefined ? {} : { stated: address };
  const allowedServers = allowedServersOf(hub.readers);
  const server = reachableServer({ ...spoke, ...stated, context, hub: { ...hub, allowedServers } });
  const early = refusedRegistration(request, facts);
  if ("error" in server) return [...early, server];
  const { readers, profileVersion } = hub;
  if (typeof readers === "string" || profileVersion === undefined) return early;
  const sourceWith = (reader: ChosenReader): ProfileSource =>
    sourceOf(request, facts, { apiVersion: profileVersion, reader, cluster: server.cluster });
  const reader = chooseReader(readers, profile, sourceWith);
  if ("error" in reader) return [...early, reader];
  const refusals = [...early, ...refusedSecret(reader, request, hub)];
  if (refusals.length > 0) return refusals;
  const source = sourceWith(reader);
  return {
    ...spokePart(request, facts, clock.suffix),
    keepsToken: keepsToken(request, facts),
    namespaces: missingNamespaces([profile.namespace, reader.secret.namespace], hub),
    secret: secretManifest(reader.secret, request),
    reader,
    profile: profileManifest(source),
    profileStatus: profileStatusManifest(source, hub.profile, clock.now),
    server: server.cluster.server,
    serverName: server.cluster["tls-server-name"],
    isReachedHere: server.isOfKubeconfig,
    warnings: [...server.warnings, ...warningsOf(request, facts, server.cluster.server)],
    present: {
      spoke: {
        Namespace: spoke.namespace,
        ServiceAccount: spoke.account,
        ClusterRole: spoke.role,
        ClusterRoleBinding: spoke.binding,
      },
      tokens: spoke.tokens,
      secret: hub.secrets.get(idOf(reader.secret)),
      profile: hub.profile,
    },
  };
}

function allowedServersOf(readers: HubFacts["readers"]): readonly string[] {
  const providers = typeof readers === "string" ? [] : readers.file.providers;
  return providers.flatMap(({ rules }) => rules.servers ?? []);
}

function spokePart(
  { profile, account, ttlSeconds }: RegisterRequest,
  { hub, spoke }: RegistrationFacts,
  suffix: string,
): Pick<Registration, "spoke" | "token"> {
  const registrant = { profile, hubUid: hub.uid, account };
  return {
    spoke: spokeManifests(registrant, spoke),
    token: ttlSeconds === undefined ? tokenSecret(registrant, suffix) : undefined,
  };
}

function missingNamespaces(
  names: readonly string[],
  { namespaces }: HubFacts,
): readonly Manifest[] {
  return [...new Set(names)]
    .filter((name) => namespaces.every(({ metadata }) => metadata.name !== name))
    .map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }));
}

const healthyConditions: ProfileSource["conditions"] = [
  { type: "ControlPlaneHealthy", status: "True", reason: "Ready", message: "" },
  { type: "Joined", status: "True", reason: "Registered", message: "" },
];

function sourceOf(
  request: RegisterRequest,
  { hub, spoke }: RegistrationFacts,
  {
    apiVersion,
    reader: { provider, reader, secret },
    cluster,
  }: {
    readonly apiVersion: string;
    readonly reader: ChosenReader;
    readonly cluster: AccessCluster;
  },
): ProfileSource {
  return {
    ...request.profile,
    apiVersion,
    manager: registrar,
    displayName: request.displayName,
    labels: labelsOf(request, hub.profile),
    annotations: {
      [registeredAnnotations.context]: request.context,
      [registeredAnnotations.cluster]: spoke.uid,
      [registeredAnnotations.account]: `${spokeNamespace}/${request.account}`,
      [registeredAnnotations.secret]: idOf(secret),
      ...toldAnnotations(request),
    },
    access: accessEntry({ provider, reader, secret, cluster }),
    conditions: healthyConditions,
    kubernetes: spoke.kubernetes,
  };
}

function secretManifest(
  { namespace, name }: CredentialSecret,
  { profile }: RegisterRequest,
): Manifest {
  const annotations = { [profileAnnotation]: idOf(profile) };
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name, labels: registrarLabel, annotations },
    type: "Opaque",
  };
}

/** The labels of the profile: those that an earlier registration gave, with the changes of this one. */
function labelsOf(
  { labels, removedLabels }: RegisterRequest,
  present: ClusterProfile | undefined,
): Readonly<Record<string, string>> {
  const own = (present?.metadata.managedFields ?? [])
    .filter(({ manager, subresource }) => manager === registrar && subresource === undefined)
    .flatMap(({ fieldsV1 }) => Object.keys(recordAt(fieldsV1, "f:metadata", "f:labels")))
    .map((field) => field.replace(/^f:/, ""));
  const before = Object.entries(present?.metadata.labels ?? {}).filter(([key]) =>
    own.includes(key),
  );
  const all = Object.entries({ ...Object.fromEntries(before), ...labels });
  return Object.fromEntries(all.filter(([key]) => !removedLabels.includes(key)));
}

function warningsOf(
  { profile }: RegisterRequest,
  { hub, spoke }: RegistrationFacts,
  server: string,
): readonly string[] {
  const before = hub.profile?.status?.accessProviders?.[0]?.cluster?.server;
  const others = otherProfiles(profile, hub, traitsOf(spoke, server));
  return [
    ...(hub.hasController ? [] : ["No controller was found on the hub"]),
    ...(hub.uid !== "" && hub.uid === spoke.uid ? ["The cluster is the hub itself"] : []),
    ...(others.length === 0
      ? []
      : [
          `The cluster is known as ClusterProfile ${others.join(", ")} already, and takes one component of a kind`,
        ]),
    ...unknownProfiles({ hub: hub.unlisted, anchors: spoke.anchors }),
    ...(before === undefined || before === server
      ? []
      : [`The server of the ClusterProfile changes from ${before} to ${server}`]),
  ];
}

/** The data of the hub's Secret: a token, or a kubeconfig with it. */
export function credentialData(
  { secret, profile, reader: { reader } }: Pick<Registration, "secret" | "profile" | "reader">,
  server: string,
  token: string,
): Manifest {
  const { name = "" } = profile.metadata;
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": name,
    clusters: [{ name, cluster: { server } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    users: [{ name, user: { token } }],
  };
  const text = reader === "secretreader" ? token : JSON.stringify(kubeconfig, undefined, 2);
  return {
    ...secret,
    data: { [credentialKeys[reader]]: Buffer.from(text, "utf8").toString("base64") },
  };
}
