import { anchorAnnotations, guardAnnotations } from "../../../installation/anchor.ts";
import type { GuardStage, PatchType, Place, User } from "./guard-stage.ts";
import {
  about,
  annotate,
  collection,
  confirmDeletionOf,
  messages,
  missingOwner,
  type Outcome,
  passed,
  refused,
  type TruthRow,
} from "./truth-row.ts";

const { anchor, protected: guarded, componentUid, hubId } = anchorAnnotations;
const { confirmDeletion, probe } = guardAnnotations;
const { M1, M3, M4, M5, M6, M7, M8 } = messages;

const ownedBy = (owner: object) => ({ metadata: { ownerReferences: [owner] } });
function create(
  [id, title, user]: readonly [string, string, User],
  metadata: (stage: GuardStage) => object,
  {
    query = "",
    ...expectation
  }: Pick<TruthRow, "expected" | "message"> & { readonly query?: string },
): TruthRow {
  const run = (stage: GuardStage) => {
    const object = { metadata: { name: stage.newName(), ...metadata(stage) } };
    return about(stage.send(user, "POST", `${collection(stage.namespace)}${query}`, object));
  };
  return { id, title: `CREATE ${title}`, ...expectation, run };
}

const marked = (stage: GuardStage) => ({ annotations: stage.markers() });

const createRows: readonly TruthRow[] = [
  create(["C1", "with markers, tenant", "tenant"], marked, { expected: 403, message: M3 }),
  create(["C2", "with markers, cluster-admin", "clusterAdmin"], marked, {
    expected: 403,
    message: M3,
  }),
  create(["C3", "with markers, dry run, tenant", "tenant"], marked, {
    expected: 403,
    message: M3,
    query: "?dryRun=All",
  }),
  create(
    ["C4", "with markers and an owner, controller", "controller"],
    (stage) => ({ ...marked(stage), ownerReferences: [missingOwner] }),
    { expected: 403, message: M4 },
  ),
  create(["C5", "with markers, controller", "controller"], marked, { expected: 201 }),
  {
    id: "C6",
    title: "CREATE by server-side apply, tenant",
    expected: 403,
    message: M3,
    run: (stage) => {
      const name = stage.newName();
      const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...marked(stage) } };
      return about(
        stage.patch("tenant", "apply", `${collection(stage.namespace)}/${name}`, object),
      );
    },
  },
  create(["C7", "without markers, tenant", "tenant"], () => ({}), { expected: 201 }),
  create(
    ["C8", "with generateName only, tenant", "tenant"],
    () => ({ name: undefined, generateName: "row-" }),
    { expected: 201 },
  ),
  create(
    ["C9", "with `protected` but no hub-id, tenant", "tenant"],
    () => ({ annotations: { [guarded]: "true" } }),
    { expected: 201 },
  ),
  create(
    ["C10", "with the markers of an unknown hub, tenant", "tenant"],
    (stage) => ({ annotations: stage.markers("unknown-hub") }),
    { expected: 201 },
  ),
  create(
    ["C11", "enforcement probe, controller", "controller"],
    (stage) => ({ annotations: { ...stage.markers(), [probe]: "1" } }),
    { expected: 403, message: M1, query: "?dryRun=All" },
  ),
];

interface Update extends Pick<TruthRow, "expected" | "message"> {
  readonly type?: PatchType;
  readonly body: object | ((place: Place, stage: GuardStage) => object);
  readonly metadata?: object;
  readonly confirmed?: boolean;
  readonly query?: string;
}

/** A patch of a fresh anchor. */
function update(
  [id, title, user]: readonly [string, string, User],
  { type = "merge", body, metadata, confirmed = false, query = "", ...expectation }: Update,
): TruthRow {
  const run = async (stage: GuardStage): Promise<Outcome> => {
    const place = await stage.anchor(metadata);
    if (confirmed) await confirmDeletionOf(stage, place);
    const patch = typeof body === "function" ? body(place, stage) : body;
    return about(stage.patch(user, type, `${place.path}${query}`, patch), place);
  };
  return { id, title: `UPDATE ${title}`, ...expectation, run };
}

const applied = (place: Place, metadata: object) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: place.name, namespace: place.namespace, ...metadata },
});
const withoutMarks = { metadata: { annotations: null } };
const updateRows: readonly TruthRow[] = [
  {
    id: "U1",
    title: "UPDATE turns a foreign ConfigMap into an anchor, tenant",
    ...refused(M5),
    run: async (stage) => {
      const object = { metadata: { name: stage.newName() } };
      await stage.send("tenant", "POST", collection(stage.namespace), object);
      const { name } = object.metadata;
      const place = { path: "", namespace: stage.namespace, name, uid: "" };
      const path = `${collection(stage.namespace)}/${name}`;
      return about(stage.patch("tenant", "merge", path, annotate(stage.markers())), place);
    },
  },
  update(["U2", "strips `protected`, cluster-admin", "clusterAdmin"], {
    body: annotate({ [guarded]: null }),
    ...refused(M5),
  }),
  update(["U3", "strips `hub-id`, cluster-admin", "clusterAdmin"], {
    body: annotate({ [hubId]: null }),
    ...refused(M5),
  }),
  update(["U4", "sets protected=false, cluster-admin", "clusterAdmin"], {
    body: annotate({ [guarded]: "false" }),
    ...refused(M5),
  }),
  update(["U5", "changes cr-uid, cluster-admin", "clusterAdmin"], {
    body: annotate({ [componentUid]: "cr-2" }),
    ...refused(M5),
  }),
  update(["U6", "changes hub-id, cluster-admin", "clusterAdmin"], {
    body: annotate({ [hubId]: "other" }),
    ...refused(M5),
  }),
  update(["U7", "strips `anchor`, cluster-admin", "clusterAdmin"], {
    body: annotate({ [anchor]: null }),
    ...refused(M5),
  }),
  update(["U8", "drops all annotations, merge patch, tenant", "tenant"], {
    body: withoutMarks,
    ...refused(M5),
  }),
  update(["U9", "drops all annotations, JSON patch, tenant", "tenant"], {
    type: "json",
    body: [{ op: "remove", path: "/metadata/annotations" }],
    ...refused(M5),
  }),
  update(["U10", "drops one marker, strategic merge patch, tenant", "tenant"], {
    type: "strategic",
    body: annotate({ [componentUid]: null }),
    ...refused(M5),
  }),
  {
    id: "U11",
    title: "UPDATE by PUT without markers, tenant",
    ...refused(M5),
    run: async (stage) => {
      const place = await stage.anchor();
      const object = { metadata: { name: place.name, namespace: place.namespace } };
      return about(stage.send("tenant", "PUT", place.path, object), place);
    },
  },
  update(["U12", "by server-side apply, protected=false, tenant", "tenant"], {
    type: "apply",
    body: (place) => applied(place, { annotations: { [guarded]: "false" } }),
    ...refused(M5),
  }),
  update(["U13", "adds an ownerReference, tenant", "tenant"], {
    body: ownedBy(missingOwner),
    ...refused(M6),
  }),
  update(["U14", "adds an ownerReference by server-side apply, tenant", "tenant"], {
    type: "apply",
    body: (place) => applied(place, { ownerReferences: [missingOwner] }),
    ...refused(M6),
  }),
  update(["U15", "adds an ownerReference, controller", "controller"], {
    body: ownedBy(missingOwner),
    ...refused(M4),
  }),
  update(["U16", "adds a finalizer, cluster-admin", "clusterAdmin"], {
    body: { metadata: { finalizers: ["example.dev/hold"] } },
    ...refused(M7),
  }),
  update(["U17", "adds finalizer foregroundDeletion, tenant", "tenant"], {
    body: { metadata: { finalizers: ["foregroundDeletion"] } },
    ...refused(M7),
  }),
  update(["U18", "unrelated annotation, label, data, tenant", "tenant"], {
    body: { metadata: { annotations: { a: "1" }, labels: { b: "2" } }, data: { c: "3" } },
    ...passed,
  }),
  update(["U19", "unrelated annotation by server-side apply, tenant", "tenant"], {
    type: "apply",
    body: (place) => applied(place, { annotations: { a: "1" } }),
    ...passed,
  }),
  update(["U20", "adds the probe annotation, tenant", "tenant"], {
    body: annotate({ [probe]: "1" }),
    ...passed,
  }),
  {
    id: "U21",
    title: "UPDATE of an anchor that carries the probe annotation, controller",
    ...passed,
    run: async (stage) => {
      const place = await stage.anchor();
      await stage.patch("tenant", "merge", place.path, annotate({ [probe]: "1" }));
      return about(stage.patch("controller", "merge", place.path, annotate({ a: "1" })), place);
    },
  },
  update(["U22", "strips `protected`, dry run, tenant", "tenant"], {
    body: annotate({ [guarded]: null }),
    query: "?dryRun=All",
    ...refused(M5),
  }),
  update(["U23", "sets immutable, tenant", "tenant"], { body: { immutable: true }, ...passed }),
  {
    id: "U24",
    title: "UPDATE of an annotation after that, controller",
    ...passed,
    run: async (stage) => {
      const place = await stage.anchor();
      await stage.patch("tenant", "merge", place.path, { immutable: true });
      return about(stage.patch("controller", "merge", place.path, annotate({ a: "1" })), place);
    },
  },
  update(["U25", "strips a marker, controller", "controller"], {
    body: annotate({ [anchor]: null }),
    ...passed,
  }),
  update(["U26", "confirm = own UID without the right, tenant", "tenant"], {
    body: ({ uid }: Place) => annotate({ [confirmDeletion]: uid }),
    ...refused(M8),
  }),
  update(["U27", "confirm = wrong UID with the right, breaker", "breaker"], {
    body: annotate({ [confirmDeletion]: "wrong" }),
    ...refused(M8),
  }),
  update(["U28", "confirm = own UID and an added ownerReference, breaker", "breaker"], {
    body: ({ uid }: Place) => ({
      metadata: { annotations: { [confirmDeletion]: uid }, ownerReferences: [missingOwner] },
    }),
    ...refused(M6),
  }),
  update(["U29", "confirm = own UID and a stripped marker, breaker", "breaker"], {
    body: ({ uid }: Place) => annotate({ [confirmDeletion]: uid, [guarded]: null }),
    ...refused(M5),
  }),
  update(["U30", "confirm = own UID, cluster-admin", "clusterAdmin"], {
    body: ({ uid }: Place) => annotate({ [confirmDeletion]: uid }),
    ...passed,
  }),
  update(["U31", "other annotation while confirmed, tenant", "tenant"], {
    body: annotate({ a: "1" }),
    confirmed: true,
    ...passed,
  }),
  update(["U32", "changes confirm to another value, tenant", "tenant"], {
    body: annotate({ [confirmDeletion]: "other" }),
    confirmed: true,
    ...refused(M8),
  }),
  update(["U33", "withdraws confirm, tenant", "tenant"], {
    body: annotate({ [confirmDeletion]: null }),
    confirmed: true,
    ...passed,
  }),
  update(["U34", "confirm = own UID, breaker", "breaker"], {
    body: ({ uid }: Place) => annotate({ [confirmDeletion]: uid }),
    ...passed,
  }),
];

/** Rows of anchor-guard.md 4.1 and 4.2. */
export const anchorRows: readonly TruthRow[] = [...createRows, ...updateRows];
