import { type Right, rightTexts } from "../../../../../access/kube/missing-right.ts";
import type { ClusterProfile } from "../../../../../api/cluster-profile.ts";
import type { ComponentKey } from "../../../../../api/component.ts";
import { recordAt, textAt } from "../../../../../api/fields.ts";
import { type FleetSet, holdLabel } from "../../../../../api/fleet-set.ts";
import { describe, type KubeObject, nameFirst } from "../../../../../api/kubernetes.ts";
import { spokeRoleName } from "../../../../../installation/spoke-role.ts";
import { accountsOf } from "../../../hub/find-controller.ts";
import { words } from "../../../output/steps.ts";
import {
  idOf,
  isRegistrars,
  isTokenSecretOf,
  managerText,
  otherRegistrant,
  profileAnnotation,
  registeredAnnotations,
  registrar,
  spokeNamespace,
} from "../../../rights/spoke-objects.ts";
import { type NamespaceContents, othersIn, whyItStays } from "../namespace-contents.ts";
import type { Refusal } from "../reachable-server.ts";

/** What a registration recorded in its ClusterProfile. Empty texts: nothing. */
export interface Registered {
  readonly context: string;
  readonly clusterUid: string;
  /** Name of the ServiceAccount. */
  readonly account: string;
  /** `namespace/name` of the Secret of the hub. */
  readonly secret: string;
}

/** Reads what a registration recorded in its ClusterProfile. */
export function registeredOf({ metadata: { annotations = {} } }: ClusterProfile): Registered {
  const text = (name: keyof typeof registeredAnnotations): string =>
    annotations[registeredAnnotations[name]] ?? "";
  return {
    context: text("context"),
    clusterUid: text("cluster"),
    account: text("account").split("/")[1] ?? "",
    secret: text("secret"),
  };
}

/** What is in the way of a removal. */
interface Users {
  /** The components that name the ClusterProfile. */
  readonly users: readonly ComponentKey[];
  /** The sets that would make such a component again. */
  readonly sets: readonly FleetSet[];
  /** What of sets may not be listed. */
  readonly unlisted: readonly Right[];
}

/** Why a ClusterProfile may not be unregistered. */
export function refusedRemoval(
  profile: ClusterProfile,
  { users, sets, unlisted }: Users,
): readonly Refusal[] {
  const manager = profile.spec?.clusterManager?.name ?? "";
  const id = idOf(profile.metadata);
  if (manager !== registrar) {
    return [
      {
        error: `ClusterProfile ${id} was written by ${managerText(manager)}, and not by register`,
        next: ["Whoever wrote it has to delete it."],
      },
    ];
  }
  if (users.length === 0) return [];
  const names = users.map(describe).toSorted();
  const [first] = users;
  return [
    {
      error: `ClusterProfile ${id} is in use by ${names.join(", ")}`,
      next: [
        ...holdSteps(profile, sets),
        ...(unlisted.length === 0
          ? []
          : [
              `Whether a fleet set would make a deleted component again could not be read, for want of the right to ${rightTexts(unlisted).join(" and to ")} on the hub.`,
            ]),
        `Delete the components ${sets.length === 0 ? "first" : "then"}; that removes Knative from the cluster:`,
        ...(first === undefined
          ? []
          : [
              words(
                "kubectl",
                "delete",
                first.kind.toLowerCase(),
                first.name,
                "-n",
                first.namespace,
              ),
            ]),
      ],
    },
  ];
}

/** How to keep sets from making the components again that are to be deleted. */
function holdSteps(
  { metadata: { namespace, name } }: ClusterProfile,
  sets: readonly FleetSet[],
): readonly string[] {
  if (sets.length === 0) return [];
  const titles = sets.map(({ kind, metadata }) => `${kind} ${idOf(metadata)}`).join(", ");
  const type = "clusterprofiles.multicluster.x-k8s.io";
  return [
    `The cluster is selected by ${titles}, which would make a deleted component again. Keep the cluster from all sets first:`,
    words("kubectl", "label", type, name, "-n", namespace, `${holdLabel}=true`),
  ];
}

/** What was read of the cluster to unregister. */
export interface RemovalFacts {
  readonly context: string;
  readonly uid: string;
  readonly hubUid: string;
  readonly account: KubeObject | undefined;
  readonly binding: KubeObject | undefined;
  readonly role: KubeObject | undefined;
  /** All ClusterRoleBindings and RoleBindings. */
  readonly bindings: readonly KubeObject[];
  readonly namespace: KubeObject | undefined;
  readonly contents: NamespaceContents;
}

/** What `unregister` deletes on the cluster. */
export interface SpokeRemovals {
  /** In this order: rights before what they are for. */
  readonly objects: readonly KubeObject[];
  /** The namespace, which goes last. Undefined: it stays. */
  readonly namespace: KubeObject | undefined;
  readonly warnings: readonly string[];
}

/** Decides what `unregister` deletes on the cluster, or says why it does not. */
export function spokeRemovals(
  profile: ClusterProfile,
  facts: RemovalFacts,
): SpokeRemovals | Refusal {
  const { clusterUid, account: name } = registeredOf(profile);
  const { context, uid, hubUid, account, binding, role, bindings, namespace, contents } = facts;
  if (uid === "" || uid !== clusterUid) {
    return {
      error: `Context "${context}" leads to another cluster than the one that was registered as ${idOf(profile.metadata)}`,
      next: ["Name its context with --from-context, or leave the cluster alone with --keep-spoke."],
    };
  }
  const registrant = { profile: profile.metadata, hubUid };
  const isOwn = (object: KubeObject | undefined): object is KubeObject =>
    object !== undefined &&
    isRegistrars(object) &&
    otherRegistrant(object, registrant) === undefined;
  const tokens = contents.objects.filter(
    (object) => object.kind === "Secret" && isOwn(account) && isTokenSecretOf(object, name),
  );
  const removals = [binding, ...tokens, account].filter(isOwn);
  const gone = new Set(removals.map(({ metadata }) => metadata.uid));
  const isRoleInUse = bindings.some(
    (one) => !gone.has(one.metadata.uid) && clusterRoleOf(one) === spokeRoleName,
  );
  const naming = isOwn(account)
    ? bindings.filter(
        (one) =>
          !gone.has(one.metadata.uid) && accountsOf(one).includes(`${spokeNamespace}/${name}`),
      )
    : [];
  const stays = whyItStays(spokeNamespace, othersIn(contents, removals));
  return {
    objects: [...removals, ...(isOwn(role) && !isRoleInUse ? [role] : [])],
    namespace: isOwn(namespace) && stays === undefined ? namespace : undefined,
    warnings: [
      ...(isOwn(namespace) && stays !== undefined ? [stays] : []),
      ...(naming.length === 0 ? [] : [namingText(naming, name)]),
    ],
  };
}

/** The ClusterRole of a binding; undefined for a Role. */
function clusterRoleOf({ roleRef }: KubeObject): string | undefined {
  const ref = recordAt(roleRef);
  return ref["kind"] === "Role" ? undefined : textAt(ref, "name");
}

function namingText(bindings: readonly KubeObject[], account: string): string {
  const names = bindings.map(({ kind, metadata }) => describe({ kind, ...metadata }));
  return `${nameFirst(names.toSorted(), 3)} still names ServiceAccount ${spokeNamespace}/${account}: another account of this name gets these rights`;
}

/** What `unregister` deletes on the hub, in this order: the ClusterProfile comes last, so that another run finds what is left. */
export function hubRemovals(
  profile: ClusterProfile,
  secret: KubeObject | undefined,
): readonly KubeObject[] {
  const isOwn =
    secret !== undefined &&
    isRegistrars(secret) &&
    secret.metadata.annotations?.[profileAnnotation] === idOf(profile.metadata);
  return [...(isOwn ? [secret] : []), profile];
}
