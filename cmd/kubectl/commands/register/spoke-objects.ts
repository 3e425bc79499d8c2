import type { KubeObject, Manifest, NamespacedName } from "../../../../api/kubernetes.ts";
import { spokeRole, spokeRoleName } from "../../../../installation/spoke-role.ts";

/** The manager that `register` gives its ClusterProfiles, and its field manager on hub and spoke. */
export const registrar = "knfleet-register";
const managedBy = "app.kubernetes.io/managed-by";
/** Label of the objects that `register` makes. */
export const registrarLabel: Readonly<Record<string, string>> = { [managedBy]: registrar };

/** Selector of these objects. */
export const registrarSelector = `${managedBy}=${registrar}`;

/** Annotation of the objects of one registration: `namespace/name` of the ClusterProfile. */
export const profileAnnotation = "knfleet.dev/cluster-profile";
/** Annotation on the spoke: uid of the hub. */
const hubAnnotation = "knfleet.dev/hub-uid";
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
  // The uid is empty where somebody who may not read it has registered.
  const isSameHub = [uid, hubUid].includes("") || uid === hubUid;
  if (id === undefined || (id === idOf(profile) && isSameHub)) return undefined;
  return isSameHub ? `ClusterProfile ${id}` : `ClusterProfile ${id} of another hub`;
}

/** What `register` applies on a spoke, in this order: namespace, ServiceAccount, ClusterRole and its binding. `namespace` and `role`: what is there. */
export function spokeManifests(
  registrant: Registrant,
  { namespace: space, role }: Readonly<Record<"namespace" | "role", KubeObject | undefined>>,
): readonly Manifest[] {
  const { account } = registrant;
  const own = ownMetadata(registrant);
  const namespace: Manifest = {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: spokeNamespace, labels: registrarLabel },
  };
  return [
    ...(mayOwn(space) ? [namespace] : []),
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { namespace: spokeNamespace, name: account, ...own },
    },
    // A role that somebody else made stays when the cluster is unregistered.
    spokeRole(mayOwn(role) ? registrarLabel : {}),
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: account, ...own },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: spokeRoleName },
      subjects: [{ kind: "ServiceAccount", namespace: spokeNamespace, name: account }],
    },
  ];
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

function mayOwn(present: KubeObject | undefined): boolean {
  return present === undefined || isRegistrars(present);
}

function ownMetadata({ profile, hubUid }: Registrant) {
  return {
    labels: registrarLabel,
    annotations: { [profileAnnotation]: idOf(profile), [hubAnnotation]: hubUid },
  };
}
