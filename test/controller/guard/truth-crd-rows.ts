import { guardAnnotations, guardLabels } from "../../../installation/anchor.ts";
import type { GuardStage, Place } from "./guard-stage.ts";
import {
  about,
  annotate,
  messages,
  type Outcome,
  passed,
  refused,
  type TruthRow,
} from "./truth-row.ts";

const { confirmDeletion } = guardAnnotations;
const all = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** A CRD that carries the guard's label, with one instance. */
async function definition(stage: GuardStage): Promise<Place> {
  const plural = stage.newName().replace("-", "");
  const group = "guard.example.dev";
  const name = `${plural}.${group}`;
  const answer = await stage.send("controller", "POST", all, {
    metadata: { name, labels: { [guardLabels.crd]: stage.hubId, set: plural } },
    spec: {
      group,
      names: { kind: `Kind${plural}`, plural },
      scope: "Namespaced",
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
          },
        },
      ],
    },
  });
  if (answer.status !== 201) throw new Error(answer.message);
  const { metadata }: { readonly metadata?: { readonly uid: string } } = Object(answer.body);
  return { path: `${all}/${name}`, namespace: plural, name, uid: metadata?.uid ?? "" };
}

function row(
  [id, title]: readonly [string, string],
  expectation: Pick<TruthRow, "expected" | "message">,
  act: (stage: GuardStage, place: Place) => Promise<Outcome>,
): TruthRow {
  const run = async (stage: GuardStage) => act(stage, await definition(stage));
  return { id, title: `CRD: ${title}`, ...expectation, run };
}

const unlabelled = { metadata: { labels: { [guardLabels.crd]: null } } };

/** Rows of anchor-guard.md 4.7. */
export const crdRows: readonly TruthRow[] = [
  row(["R1", "DELETE, cluster-admin"], refused(messages.M16), (stage, place) =>
    about(stage.send("clusterAdmin", "DELETE", place.path), place),
  ),
  row(["R2", "DELETECOLLECTION by label, cluster-admin"], refused(messages.M16), (stage, place) =>
    about(
      stage.send("clusterAdmin", "DELETE", `${all}?labelSelector=set%3D${place.namespace}`),
      place,
    ),
  ),
  row(
    ["R3", "DELETE, dry run, controller: the enforcement probe"],
    refused(messages.M2),
    (stage, place) => about(stage.send("controller", "DELETE", `${place.path}?dryRun=All`), place),
  ),
  row(["R4", "UPDATE strips the label, cluster-admin"], refused(messages.M15), (stage, place) =>
    about(stage.patch("clusterAdmin", "merge", place.path, unlabelled), place),
  ),
  row(
    ["R5", "PATCH /status strips the label, cluster-admin"],
    refused(messages.M15),
    (stage, place) =>
      about(stage.patch("clusterAdmin", "merge", `${place.path}/status`, unlabelled), place),
  ),
  row(["R6", "UPDATE of the names, cluster-admin"], passed, (stage, place) =>
    about(
      stage.patch("clusterAdmin", "merge", place.path, { spec: { names: { shortNames: ["g"] } } }),
      place,
    ),
  ),
  row(
    ["R7", "UPDATE confirm = own UID, tenant (RBAC refuses)"],
    { expected: 403 },
    (stage, place) =>
      about(
        stage.patch("tenant", "merge", place.path, annotate({ [confirmDeletion]: place.uid })),
        place,
      ),
  ),
  row(["R8", "UPDATE confirm = own UID, cluster-admin"], passed, (stage, place) =>
    about(
      stage.patch("clusterAdmin", "merge", place.path, annotate({ [confirmDeletion]: place.uid })),
      place,
    ),
  ),
  row(["R9, R10", "DELETE, confirmed, cluster-admin, ends"], passed, async (stage, place) => {
    await stage.patch(
      "clusterAdmin",
      "merge",
      place.path,
      annotate({ [confirmDeletion]: place.uid }),
    );
    const outcome = await about(stage.send("clusterAdmin", "DELETE", place.path), place);
    if (outcome.reply.status === 200) await stage.gone(place.path);
    return outcome;
  }),
];
