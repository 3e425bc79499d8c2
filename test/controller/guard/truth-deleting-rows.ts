import { anchorAnnotations } from "../../../installation/anchor.ts";
import type { GuardStage, Place, User } from "./guard-stage.ts";
import {
  about,
  annotate,
  collection,
  messages,
  missingOwner,
  type Outcome,
  passed,
  refused,
  type TruthRow,
} from "./truth-row.ts";

const { protected: guarded } = anchorAnnotations;
const { M5, M6, M7, M9 } = messages;

const hold = "example.dev/hold";

/** A dependent of an anchor that cannot go while its finalizer stays. */
async function dependentOf(stage: GuardStage, owner: Place): Promise<string> {
  const name = stage.newName();
  const { status, message } = await stage.send("masters", "POST", collection(owner.namespace), {
    metadata: {
      name,
      finalizers: [hold],
      ownerReferences: [
        {
          apiVersion: "v1",
          kind: "ConfigMap",
          name: owner.name,
          uid: owner.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
  });
  if (status !== 201) throw new Error(message);
  return `${collection(owner.namespace)}/${name}`;
}

interface Tombstone {
  readonly place: Place;
  readonly dependent: string;
}

/** An anchor whose Foreground deletion waits for a dependent. */
async function tombstone(
  stage: GuardStage,
  finalizers: readonly string[] = [],
): Promise<Tombstone> {
  const place = await stage.anchor({ finalizers });
  const dependent = await dependentOf(stage, place);
  const body = { propagationPolicy: "Foreground" };
  const { status, message } = await stage.send("controller", "DELETE", place.path, body);
  if (status !== 200) throw new Error(message);
  return { place, dependent };
}

async function release(stage: GuardStage, dependent: string): Promise<void> {
  await stage.patch("masters", "merge", dependent, { metadata: { finalizers: null } });
}

function whileDeleting(
  [id, title]: readonly [string, string],
  expectation: Pick<TruthRow, "expected" | "message">,
  act: (stage: GuardStage, tomb: Tombstone) => Promise<Outcome>,
): TruthRow {
  const run = async (stage: GuardStage) => {
    const tomb = await tombstone(stage, [hold]);
    const outcome = await act(stage, tomb);
    await release(stage, tomb.dependent);
    await stage.patch("controller", "merge", tomb.place.path, { metadata: { finalizers: null } });
    return outcome;
  };
  return { id, title: `while it is being deleted: ${title}`, ...expectation, run };
}

const patching =
  (user: User, body: object) =>
  (stage: GuardStage, { place }: Tombstone) =>
    about(stage.patch(user, "merge", place.path, body), place);

const removing =
  (user: User, propagationPolicy: string) =>
  (stage: GuardStage, { place }: Tombstone) =>
    about(stage.send(user, "DELETE", place.path, { propagationPolicy }), place);

/** Rows of anchor-guard.md 4.4. */
export const deletingRows: readonly TruthRow[] = [
  {
    id: "S1, S6",
    title:
      "a Foreground deletion by the controller ends when the real garbage collector has the dependent",
    ...passed,
    run: async (stage) => {
      const { place, dependent } = await tombstone(stage);
      const reply = stage.send("masters", "GET", place.path);
      await reply;
      await release(stage, dependent);
      await stage.gone(place.path);
      return about(reply, place);
    },
  },
  whileDeleting(
    ["S2", "UPDATE strips `protected`, cluster-admin"],
    refused(M5),
    patching("clusterAdmin", annotate({ [guarded]: null })),
  ),
  whileDeleting(
    ["S3", "UPDATE adds a finalizer, cluster-admin (refused by the API server)"],
    { expected: 422 },
    patching("clusterAdmin", {
      metadata: { finalizers: [hold, "foregroundDeletion", "example.dev/other"] },
    }),
  ),
  whileDeleting(
    ["S4", "UPDATE adds an ownerReference, cluster-admin"],
    refused(M6),
    patching("clusterAdmin", { metadata: { ownerReferences: [missingOwner] } }),
  ),
  whileDeleting(["S5", "DELETE again, tenant"], refused(M9), removing("tenant", "Foreground")),
  whileDeleting(
    ["S7", "DELETE Background, cluster-admin"],
    refused(M9),
    removing("clusterAdmin", "Background"),
  ),
  whileDeleting(
    ["S7a", "DELETE Orphan, cluster-admin"],
    refused(M9),
    removing("clusterAdmin", "Orphan"),
  ),
  {
    id: "S7b, S7c",
    title:
      "while it is being deleted: DELETE Background by the controller removes the anchor and leaves the dependent",
    ...passed,
    run: async (stage) => {
      const { place, dependent } = await tombstone(stage);
      const body = { propagationPolicy: "Background" };
      const outcome = await about(stage.send("controller", "DELETE", place.path, body), place);
      await stage.gone(place.path);
      const left = await stage.send("masters", "GET", dependent);
      await release(stage, dependent);
      return left.status === 200 ? outcome : { ...outcome, reply: left };
    },
  },
  whileDeleting(
    ["S10", "UPDATE removes another finalizer than the garbage collector's, cluster-admin"],
    refused(M7),
    patching("clusterAdmin", { metadata: { finalizers: ["foregroundDeletion"] } }),
  ),
  whileDeleting(
    ["S11", "UPDATE removes its own finalizer, controller"],
    passed,
    patching("controller", { metadata: { finalizers: ["foregroundDeletion"] } }),
  ),
  {
    id: "S8, S9",
    title:
      "an Orphan deletion by the controller ends, and the real garbage collector leaves the dependent without owner",
    ...passed,
    run: async (stage) => {
      const place = await stage.anchor();
      const dependent = await dependentOf(stage, place);
      const body = { propagationPolicy: "Orphan" };
      const outcome = await about(stage.send("controller", "DELETE", place.path, body), place);
      await stage.gone(place.path);
      const left = await stage.send("masters", "GET", dependent);
      await release(stage, dependent);
      await stage.send("masters", "DELETE", dependent);
      const isOrphan =
        left.status === 200 && !JSON.stringify(left.body).includes("ownerReferences");
      return isOrphan ? outcome : { ...outcome, reply: left };
    },
  },
];
