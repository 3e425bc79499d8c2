import type { GuardStage, Place, Reply } from "./guard-stage.ts";

/** One row of the truth table: a request on objects of its own, and what the guards answer to it. */
export interface TruthRow {
  /** Number in anchor-guard.md 4. */
  readonly id: string;
  readonly title: string;
  /** HTTP status, or the exit code of kubectl. */
  readonly expected: number;
  /** What the message ends with; absent: it is not the guard's. */
  readonly message?: (stage: GuardStage, place: Place) => string;
  readonly run: (stage: GuardStage) => Promise<Outcome>;
}

/** The answer, and the object that it is about. */
export interface Outcome {
  readonly reply: Reply;
  readonly place: Place;
}

const nowhere: Place = { path: "", namespace: "", name: "", uid: "" };

/** An outcome that is about no object in particular. */
export async function about(reply: Promise<Reply>, place: Place = nowhere): Promise<Outcome> {
  return { reply: await reply, place };
}

const confirm = "operator.knative.dev/confirm-deletion";
const breakGlass = ({ uid }: Place) => `Break-glass: set annotation ${confirm}=${uid} first`;

type Message = NonNullable<TruthRow["message"]>;

/** The texts of anchor-guard.md 4. */
export const messages = {
  M1: () => "knfleet enforcement probe: denied as intended (CREATE)",
  M2: () => "knfleet enforcement probe: denied as intended (DELETE)",
  M3: ({ hubId }) =>
    `only the Knative hub controller of hub ${hubId} may create an anchor with its markers`,
  M4: () => "an anchor must not have ownerReferences",
  M5: ({ hubId }, { namespace, name }) =>
    `ConfigMap ${namespace}/${name}: the anchor markers (anchor, protected, cr-uid, hub-id) may be changed only by the Knative hub controller of hub ${hubId}`,
  M6: (_stage, { namespace, name }) =>
    `ConfigMap ${namespace}/${name}: ownerReferences of an anchor may not be changed`,
  M7: (_stage, { namespace, name }) =>
    `ConfigMap ${namespace}/${name}: finalizers of an anchor may not be changed, except that foregroundDeletion and orphan may be removed while it is being deleted`,
  M8: (_stage, { uid }) =>
    `annotation ${confirm} must be the UID of this object (${uid}), set by a user who may "unprotect" anchors.operator.knative.dev`,
  M9: ({ hubId }, place) =>
    `ConfigMap ${place.namespace}/${place.name} anchors a Knative installation managed from hub ${hubId}; deleting it removes every object of the installation. Delete the custom resource on the hub instead. ${breakGlass(place)}`,
  M10: ({ hubId }, place) =>
    `Namespace ${place.name} holds the anchor of a Knative installation managed from hub ${hubId}; deleting it removes the installation. Delete the custom resource on the hub instead. ${breakGlass(place)}`,
  M11: ({ hubId }) =>
    `label operator.knative.dev/anchor-namespace=${hubId} may be set only by the Knative hub controller`,
  M12: ({ hubId }, { name }) =>
    `Namespace ${name}: label operator.knative.dev/anchor-namespace may be changed only by the Knative hub controller of hub ${hubId}`,
  M13: (_stage, { name }) =>
    `Namespace ${name}: ownerReferences of a namespace that holds an anchor may not be changed`,
  M14: (_stage, { name }) =>
    `Namespace ${name}: spec.finalizers may not be changed while the namespace is live`,
  M15: ({ hubId }) =>
    `label operator.knative.dev/crd-guard may be removed only by the Knative hub controller of hub ${hubId}`,
  M16: ({ hubId }, place) =>
    `CustomResourceDefinition ${place.name} is part of a Knative installation managed from hub ${hubId}; deleting it deletes every object of its kind. ${breakGlass(place)}`,
} as const satisfies Readonly<Record<string, Message>>;

/** A merge patch of annotations; null takes one away. */
export const annotate = (annotations: object): object => ({ metadata: { annotations } });

/** The ConfigMaps of a namespace. */
export const collection = (namespace: string): string =>
  `/api/v1/namespaces/${namespace}/configmaps`;

/** An owner that does not exist: the garbage collector deletes what it owns. */
export const missingOwner = {
  apiVersion: "v1",
  kind: "ConfigMap",
  name: "missing",
  uid: "00000000-0000-0000-0000-000000000000",
};

/** 403 with a text of the guard. */
export const refused = (message: Message): Pick<TruthRow, "expected" | "message"> => ({
  expected: 403,
  message,
});

export const passed = { expected: 200 } as const;

/** Somebody with the right `unprotect` says that an object is to be deleted. */
export async function confirmDeletionOf(stage: GuardStage, { path, uid }: Place): Promise<void> {
  const patch = annotate({ [confirm]: uid });
  const { status, message } = await stage.patch("breaker", "merge", path, patch);
  if (status !== 200) throw new Error(message);
}
