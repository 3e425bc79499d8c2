import type { KubeObject, Manifest, NamespacedName } from "../../../api/kubernetes.ts";
import { spokeRole, spokeRoleName } from "../../../installation/spoke-role.ts";

/** The manager that `register` gives its ClusterProfiles, and its field manager on hub and spoke. */
export const registrar = "knfleet-register";
const managedBy = "app.kubernetes.io/managed-by";
/** Label of the objects that `register` makes. */
export const registrarLabel: Readonly<Record<string, string>> = { [managedBy]: registrar };

/** Selector of these objects. */
export const registrarSelector = `${managedBy}=${registrar}`;

/** Annotations of a registered ClusterProfile, by which `unregister` finds the cluster again. */
export const registeredAnnotations = {
  context: "knfleet.dev/registered-context",
  cluster: "knfleet.dev/cluster-uid",
  account: "knfleet.dev/service-account",
  secret: "knfleet.dev/credential-secret",
  /** Value of `--ttl` in seconds, as `86400s`. */
  tokenLifetime: "knfleet.dev/token-lifetime",
  /** Value of `--spoke-server`. */
  spokeServer: "knfleet.dev/spoke-server",
} as const;

/** Annotation of the objects of one registration: `namespace/name` of the ClusterProfile. */
export const profileAnnotation = "knfleet.dev/cluster-profile";
/** Annotation on the spoke: uid of the hub. */
export const hubAnnotation = "knfleet.dev/hub-uid";
/** Annotation on the spoke: when these objects were registered last, RFC 3339 with milliseconds. */
export const registeredAtAnnotation = "knfleet.dev/registered-at";
/** The annotation by which Kubernetes fills a Secret with the token of a ServiceAccount. */
const accountAnnotation = "kubernetes.io/service-account.name";

/** The namespace of the hub's identity on a spoke. */
export const spokeNamespace = "knfleet";

/** One registration, as the objects on its spoke name it. */
export interface Registrant {
  readonly profile: NamespacedName;
  /** Uid of the hub's namespace `kube-system`, which tells hubs apart. */
  readonly hubUid: string;
  /** Name of the ServiceAccount. */
  readonly account: string;
}

/** Whether `register` made an object. */
export function isRegistrars({ metadata }: Manifest): boolean {
  return metadata.labels?.[managedBy] === registrar;
}

/** Whether `register` may write an object, and `unregister` delete it: it is not there yet, or `register` made it. */
export function mayOwn(present: KubeObject | undefined): boolean {
  return present === undefined || isRegistrars(present);
}

/** A cluster manager by its name in a ClusterProfile. */
export function managerText(manager: string): string {
  return manager === "" ? "hand" : `the cluster manager "${manager}"`;
}

/** `namespace/name` as annotations have it. */
export function idOf({ namespace, name }: NamespacedName): string {
  return `${namespace}/${name}`;
}

/** The other registration that an object on the spoke belongs to; undefined when it belongs to this one or to none. */
export function otherRegistrant(
  object: KubeObject | undefined,
  { profile, hubUid }: Pick<Registrant, "profile" | "hubUid">,
): string | undefined {
  const { [profileAnnotation]: id, [hubAnnotation]: uid = "" } = object?.metadata.annotations ?? {};
  // An empty uid is not known, and equals no other.
  const isSameHub = uid !== "" && uid === hubUid;
  if (id === undefined || (id === idOf(profile) && isSameHub)) return undefined;
  return isSameHub ? `ClusterProfile ${id}` : `ClusterProfile ${id} of another hub`;
}

/** What the spoke has already of the objects that `register` applies there. */
export type PresentObjects = Readonly<
  Record<"namespace" | "account" | "role" | "binding", KubeObject | undefined>
>;

/** What `register` applies on a spoke, in this order: namespace, ServiceAccount, ClusterRole and its binding. What somebody else made is left out. */
export function spokeManifests(
  registrant: Registrant,
  present: PresentObjects,
): readonly Manifest[] {
  const { account } = registrant;
  const own = ownMetadata(registrant);
  const manifests: readonly (readonly [keyof PresentObjects, Manifest])[] = [
    [
      "namespace",
      {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: spokeNamespace, labels: registrarLabel },
      },
    ],
    [
      "account",
      {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { namespace: spokeNamespace, name: account, ...own },
      },
    ],
    ["role", spokeRole(registrarLabel)],
    [
      "binding",
      {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name: account, ...own },
        roleRef: {
          apiGroup: "rbac.authorization.k8s.io",
          kind: "ClusterRole",
          name: spokeRoleName,
        },
        subjects: [{ kind: "ServiceAccount", namespace: spokeNamespace, name: account }],
      },
    ],
  ];
  return manifests.flatMap(([of, manifest]) => (mayOwn(present[of]) ? [manifest] : []));
}

/** The Secret that the spoke fills with a token of the ServiceAccount. Each registration makes one of a new name, so that the old token works until the hub has the new one. An empty `suffix` gives the name for a file. */
export function tokenSecret(registrant: Registrant, suffix: string): Manifest {
  const { labels, annotations } = ownMetadata(registrant);
  const { account } = registrant;
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      namespace: spokeNamespace,
      name: [account, "token", suffix].filter((part) => part !== "").join("-"),
      labels,
      annotations: { ...annotations, [accountAnnotation]: account },
    },
    type: "kubernetes.io/service-account-token",
  };
}

/** Whether a Secret of the spoke was made by `register` for the tokens of a ServiceAccount. */
export function isTokenSecretOf(secret: KubeObject, account: string): boolean {
  return isRegistrars(secret) && secret.metadata.annotations?.[accountAnnotation] === account;
}

function ownMetadata({ profile, hubUid }: Registrant) {
  return {
    labels: registrarLabel,
    annotations: { [profileAnnotation]: idOf(profile), [hubAnnotation]: hubUid },
  };
}
