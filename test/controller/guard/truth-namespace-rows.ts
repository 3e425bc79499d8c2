import { guardAnnotations, guardLabels } from "../../../installation/anchor.ts";
import type { GuardStage, Place, User } from "./guard-stage.ts";
import {
  about,
  annotate,
  confirmDeletionOf,
  messages,
  missingOwner,
  type Outcome,
  passed,
  refused,
  type TruthRow,
} from "./truth-row.ts";

const { confirmDeletion, probe } = guardAnnotations;
const { M1, M2, M8, M10, M11, M12, M13, M14 } = messages;
const all = "/api/v1/namespaces";
const labels = (value: string | null) => ({
  metadata: { labels: { [guardLabels.namespace]: value } },
});

/** A request on a fresh namespace with the guard's label. */
function row(
  [id, title]: readonly [string, string],
  expectation: Pick<TruthRow, "expected" | "message">,
  act: (stage: GuardStage, place: Place) => Promise<Outcome>,
): TruthRow {
  const run = async (stage: GuardStage) => act(stage, await stage.guardedNamespace());
  return { id, title: `Namespace: ${title}`, ...expectation, run };
}

const removing =
  (user: User, query = "") =>
  (stage: GuardStage, place: Place) =>
    about(stage.send(user, "DELETE", `${place.path}${query}`), place);

const patching =
  (user: User, body: object | ((place: Place) => object), subresource = "") =>
  (stage: GuardStage, place: Place) => {
    const patch = typeof body === "function" ? body(place) : body;
    return about(stage.patch(user, "merge", `${place.path}${subresource}`, patch), place);
  };

/** PUT of the namespace to its subresource `finalize`, changed in one way. */
const finalizing =
  (change: object) =>
  async (stage: GuardStage, place: Place): Promise<Outcome> => {
    const path = `${place.path}/finalize`;
    const object = {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: place.name },
      ...change,
    };
    return about(stage.send("clusterAdmin", "PUT", path, object), place);
  };

const labelled = ({ hubId }: GuardStage) => ({ labels: { [guardLabels.namespace]: hubId } });
const kept = { spec: { finalizers: ["kubernetes"] } };

/** Rows of anchor-guard.md 4.5. */
export const namespaceRows: readonly TruthRow[] = [
  {
    id: "N1",
    title: "Namespace: CREATE with the label, tenant with namespace rights",
    ...refused(M11),
    run: (stage) =>
      about(
        stage.send("editor", "POST", all, {
          metadata: { name: stage.newName(), ...labelled(stage) },
        }),
      ),
  },
  {
    id: "N2",
    title: "Namespace: CREATE, dry run, controller: the enforcement probe",
    ...refused(M1),
    run: (stage) => {
      const metadata = { name: stage.newName(), ...labelled(stage), annotations: { [probe]: "1" } };
      return about(stage.send("controller", "POST", `${all}?dryRun=All`, { metadata }));
    },
  },
  {
    id: "N3",
    title: "Namespace: CREATE with the label, controller",
    expected: 201,
    run: (stage) =>
      about(
        stage.send("controller", "POST", all, {
          metadata: { name: stage.newName(), ...labelled(stage) },
        }),
      ),
  },
  row(["N4", "DELETE, namespace editor"], refused(M10), removing("editor")),
  row(["N5", "DELETE, cluster-admin"], refused(M10), removing("clusterAdmin")),
  row(["N6", "DELETE, system:masters"], refused(M10), removing("masters")),
  row(
    ["N7", "DELETE, dry run, cluster-admin"],
    refused(M10),
    removing("clusterAdmin", "?dryRun=All"),
  ),
  row(
    ["N8", "DELETE, dry run, controller: the enforcement probe"],
    refused(M2),
    removing("controller", "?dryRun=All"),
  ),
  row(["N9", "kubectl delete namespace"], { expected: 1, message: M10 }, (stage, place) =>
    about(stage.kubectl(["delete", "namespace", place.name, "--wait=false"]), place),
  ),
  {
    id: "N10",
    title: "Namespace: DELETECOLLECTION is not served",
    expected: 405,
    run: (stage) => about(stage.send("clusterAdmin", "DELETE", all)),
  },
  row(
    ["N11", "UPDATE strips the label, cluster-admin"],
    refused(M12),
    patching("clusterAdmin", labels(null)),
  ),
  row(["N12", "kubectl label ns <label>-"], { expected: 1, message: M12 }, (stage, place) =>
    about(stage.kubectl(["label", "namespace", place.name, `${guardLabels.namespace}-`]), place),
  ),
  row(
    ["N13", "UPDATE gives the label to another hub, cluster-admin"],
    refused(M12),
    patching("clusterAdmin", labels("another")),
  ),
  row(["N14", "PUT /finalize without the label, cluster-admin"], refused(M12), finalizing(kept)),
  row(
    ["N15", "PATCH /status without the label, cluster-admin"],
    refused(M12),
    patching("clusterAdmin", labels(null), "/status"),
  ),
  row(
    ["N16", "PUT /finalize empties spec.finalizers, cluster-admin"],
    refused(M14),
    (stage, place) =>
      finalizing({ metadata: { name: place.name, ...labelled(stage) }, spec: { finalizers: [] } })(
        stage,
        place,
      ),
  ),
  row(
    ["N17", "UPDATE adds an ownerReference, cluster-admin"],
    refused(M13),
    patching("clusterAdmin", { metadata: { ownerReferences: [missingOwner] } }),
  ),
  row(
    ["N18", "UPDATE of an unrelated label and annotation, namespace editor"],
    passed,
    patching("editor", { metadata: { labels: { a: "1" }, annotations: { b: "2" } } }),
  ),
  row(
    ["N19", "UPDATE confirm = own UID without the right, namespace editor"],
    refused(M8),
    patching("editor", ({ uid }) => annotate({ [confirmDeletion]: uid })),
  ),
  {
    id: "N20",
    title: "Namespace: UPDATE puts the label on a foreign one, namespace editor",
    ...refused(M12),
    run: async (stage) => {
      const place = await stage.plainNamespace();
      return about(stage.patch("editor", "merge", place.path, labels(stage.hubId)), place);
    },
  },
  {
    id: "N21",
    title: "Namespace: UPDATE of one that is not ours, namespace editor",
    ...passed,
    run: async (stage) => {
      const place = await stage.plainNamespace();
      return about(stage.patch("editor", "merge", place.path, annotate({ a: "1" })), place);
    },
  },
  row(
    ["N22", "UPDATE confirm = own UID, breaker"],
    passed,
    patching("breaker", ({ uid }) => annotate({ [confirmDeletion]: uid })),
  ),
  row(
    ["N23, N24", "DELETE of a confirmed one with an anchor inside ends"],
    passed,
    async (stage, place) => {
      await stage.anchor({}, place.name);
      await confirmDeletionOf(stage, place);
      const outcome = await about(stage.send("editor", "DELETE", place.path), place);
      if (outcome.reply.status === 200) await stage.gone(place.path);
      return outcome;
    },
  ),
  {
    id: "N25, N26",
    title: "Namespace: DELETE of one without the label, an anchor inside, ends",
    ...passed,
    run: async (stage) => {
      const place = await stage.plainNamespace();
      await stage.anchor({}, place.name);
      const outcome = await about(stage.send("editor", "DELETE", place.path), place);
      if (outcome.reply.status === 200) await stage.gone(place.path);
      return outcome;
    },
  },
];
