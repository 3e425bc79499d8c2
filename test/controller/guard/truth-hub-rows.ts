import { anchorAnnotations, guardLabels } from "../../../installation/anchor.ts";
import type { GuardStage, Place, Reply, User } from "./guard-stage.ts";
import {
  about,
  annotate,
  collection,
  messages,
  passed,
  refused,
  type TruthRow,
} from "./truth-row.ts";

const { hubId, protected: guarded } = anchorAnnotations;
const { M5 } = messages;

/** The texts of the other hub's guard. */
const byOther =
  (message: NonNullable<TruthRow["message"]>): NonNullable<TruthRow["message"]> =>
  (stage, place) =>
    message({ ...stage, hubId: stage.otherHubId }, place);

/** An anchor that the controller of the other hub made. */
async function otherAnchor(stage: GuardStage): Promise<Place> {
  const path = collection(stage.namespace);
  const metadata = { name: stage.newName(), annotations: stage.markers(stage.otherHubId) };
  const { status, message, body } = await stage.send("otherController", "POST", path, { metadata });
  if (status !== 201) throw new Error(message);
  const { uid } = objectMetaOf(body);
  return { path: `${path}/${metadata.name}`, namespace: stage.namespace, name: metadata.name, uid };
}

function objectMetaOf(body: unknown): { readonly uid: string } {
  const { metadata }: { readonly metadata?: { readonly uid: string } } = Object(body);
  if (metadata === undefined) throw new Error("The answer is no object");
  return metadata;
}

/** Changes annotations as somebody who may. */
async function annotated(
  place: Place,
  annotations: object,
  patch: (path: string, body: object) => Promise<Reply>,
): Promise<void> {
  const { status, message } = await patch(place.path, annotate(annotations));
  if (status !== 200) throw new Error(message);
}

const asOther = (stage: GuardStage) => (path: string, body: object) =>
  stage.patch("otherController", "merge", path, body);
const asHub = (stage: GuardStage) => (path: string, body: object) =>
  stage.patch("controller", "merge", path, body);

/** An anchor that went from the other hub to this one, in two steps. */
async function handedOver(stage: GuardStage): Promise<Place> {
  const place = await otherAnchor(stage);
  await annotated(place, { [hubId]: null, [guarded]: null }, asOther(stage));
  await annotated(place, stage.markers(), asHub(stage));
  return place;
}

/** An anchor as upstream leaves it, taken over by this hub. */
async function adopted(stage: GuardStage): Promise<Place> {
  const path = collection(stage.namespace);
  const name = stage.newName();
  const annotations = { [anchorAnnotations.anchor]: "true", [guarded]: "true" };
  const { body } = await stage.send("masters", "POST", path, { metadata: { name, annotations } });
  const place = {
    path: `${path}/${name}`,
    namespace: stage.namespace,
    name,
    ...objectMetaOf(body),
  };
  await annotated(place, stage.markers(), asHub(stage));
  return place;
}

function row(
  [id, title]: readonly [string, string],
  expectation: Pick<TruthRow, "expected" | "message">,
  run: TruthRow["run"],
): TruthRow {
  return { id, title: `two hubs: ${title}`, ...expectation, run };
}

const removing = async (stage: GuardStage, user: User, place: Promise<Place>) => {
  const found = await place;
  return about(stage.send(user, "DELETE", found.path), found);
};

/** Rows of anchor-guard.md 4.6; A is the hub of the stage, B the other. */
export const hubRows: readonly TruthRow[] = [
  row(["H1", "hub B creates its own anchor"], { expected: 201 }, (stage) => {
    const metadata = { name: stage.newName(), annotations: stage.markers(stage.otherHubId) };
    return about(stage.send("otherController", "POST", collection(stage.namespace), { metadata }));
  }),
  row(["H2", "hub A creates an anchor of hub B"], refused(byOther(messages.M3)), (stage) => {
    const metadata = { name: stage.newName(), annotations: stage.markers(stage.otherHubId) };
    return about(stage.send("controller", "POST", collection(stage.namespace), { metadata }));
  }),
  row(["H3", "hub A deletes the anchor of B"], refused(byOther(messages.M9)), (stage) =>
    removing(stage, "controller", otherAnchor(stage)),
  ),
  row(["H4", "hub A takes the anchor of B"], refused(byOther(M5)), async (stage) => {
    const place = await otherAnchor(stage);
    return about(
      stage.patch("controller", "merge", place.path, annotate({ [hubId]: stage.hubId })),
      place,
    );
  }),
  row(["H5", "hub B gives its anchor to A in one step"], refused(M5), async (stage) => {
    const place = await otherAnchor(stage);
    return about(
      stage.patch("otherController", "merge", place.path, annotate({ [hubId]: stage.hubId })),
      place,
    );
  }),
  row(
    ["H5a, H5b, H6", "after a hand-over in two steps hub B may not delete the anchor"],
    refused(messages.M9),
    (stage) => removing(stage, "otherController", handedOver(stage)),
  ),
  row(["H7", "after a hand-over hub A deletes the anchor"], passed, (stage) =>
    removing(stage, "controller", handedOver(stage)),
  ),
  row(["H8", "hub A deletes a namespace of hub B"], refused(byOther(messages.M10)), (stage) =>
    removing(stage, "controller", otherNamespace(stage)),
  ),
  row(["H9, H10", "an anchor adopted from upstream is protected"], refused(messages.M9), (stage) =>
    removing(stage, "clusterAdmin", adopted(stage)),
  ),
  row(["H11", "hub B deletes its namespace"], passed, (stage) =>
    removing(stage, "otherController", otherNamespace(stage)),
  ),
];

async function otherNamespace(stage: GuardStage): Promise<Place> {
  const name = stage.newName();
  const metadata = { name, labels: { [guardLabels.namespace]: stage.otherHubId } };
  const { body } = await stage.send("otherController", "POST", "/api/v1/namespaces", { metadata });
  return { path: `/api/v1/namespaces/${name}`, namespace: name, name, ...objectMetaOf(body) };
}
