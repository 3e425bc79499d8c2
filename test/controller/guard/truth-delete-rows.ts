import { anchorAnnotations, guardAnnotations } from "../../../installation/anchor.ts";
import type { GuardStage, Place, User } from "./guard-stage.ts";
import {
  about,
  collection,
  confirmDeletionOf,
  messages,
  passed,
  refused,
  type TruthRow,
} from "./truth-row.ts";

const { protected: guarded } = anchorAnnotations;
const { confirmDeletion } = guardAnnotations;
const { M2, M5, M9 } = messages;

interface Removal extends Pick<TruthRow, "expected" | "message"> {
  readonly query?: string;
  readonly body?: (place: Place) => object;
  readonly confirmed?: boolean;
}

/** A DELETE of a fresh anchor. */
function remove(
  [id, title, user]: readonly [string, string, User],
  { query = "", body, confirmed = false, ...expectation }: Removal,
): TruthRow {
  const run = async (stage: GuardStage) => {
    const place = await stage.anchor();
    if (confirmed) await confirmDeletionOf(stage, place);
    return about(stage.send(user, "DELETE", `${place.path}${query}`, body?.(place)), place);
  };
  return { id, title: `DELETE ${title}`, ...expectation, run };
}

/** A collection delete in a namespace of its own that holds one anchor. */
function removeAll(
  [id, title, user]: readonly [string, string, User],
  query: (place: Place) => string,
): TruthRow {
  const run = async (stage: GuardStage) => {
    const { name } = await stage.plainNamespace();
    const place = await stage.anchor({ labels: { set: "one" } }, name);
    return about(stage.send(user, "DELETE", `${collection(name)}${query(place)}`), place);
  };
  return { id, title: `DELETECOLLECTION ${title}`, ...refused(M9), run };
}

function kubectlRow(
  [id, title]: readonly [string, string],
  args: (place: Place) => readonly string[],
  {
    input,
    ...expectation
  }: Pick<TruthRow, "expected" | "message"> & { readonly input?: (place: Place) => object },
): TruthRow {
  const run = async (stage: GuardStage) => {
    const { name } = await stage.plainNamespace();
    const place = await stage.anchor({}, name);
    return about(stage.kubectl(["-n", name, ...args(place)], input?.(place)), place);
  };
  return { id, title: `kubectl ${title}`, ...expectation, run };
}

const policy = (propagationPolicy: string) => () => ({ propagationPolicy });
const plain = (place: Place) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: place.name, namespace: place.namespace },
  data: { note: "replaced" },
});
const exitOne = (message: NonNullable<TruthRow["message"]>) => ({ expected: 1, message });

/** Rows of anchor-guard.md 4.3. */
export const deleteRows: readonly TruthRow[] = [
  remove(["D1", "with confirm = own UID, tenant", "tenant"], { confirmed: true, ...passed }),
  {
    id: "D2",
    title: "DELETE with the confirmation of an earlier anchor, cluster-admin",
    ...refused(M9),
    run: async (stage) => {
      const annotations = { ...stage.markers(), [confirmDeletion]: "uid-of-an-earlier-one" };
      const place = await stage.anchor({ annotations });
      return about(stage.send("clusterAdmin", "DELETE", place.path), place);
    },
  },
  remove(["D3", "tenant", "tenant"], refused(M9)),
  remove(["D4", "cluster-admin", "clusterAdmin"], refused(M9)),
  remove(["D5", "system:masters", "masters"], refused(M9)),
  remove(["D6", "generic-garbage-collector", "garbageCollector"], refused(M9)),
  remove(
    ["D7", "namespace-controller while the namespace lives", "namespaceController"],
    refused(M9),
  ),
  remove(["D8", "Foreground, cluster-admin", "clusterAdmin"], {
    body: policy("Foreground"),
    ...refused(M9),
  }),
  remove(["D9", "Background, cluster-admin", "clusterAdmin"], {
    body: policy("Background"),
    ...refused(M9),
  }),
  remove(["D10", "Orphan, cluster-admin", "clusterAdmin"], {
    body: policy("Orphan"),
    ...refused(M9),
  }),
  remove(["D11", "dry run, cluster-admin", "clusterAdmin"], {
    query: "?dryRun=All",
    ...refused(M9),
  }),
  remove(["D12", "gracePeriodSeconds=0 and uid, cluster-admin", "clusterAdmin"], {
    body: ({ uid }) => ({ gracePeriodSeconds: 0, preconditions: { uid } }),
    ...refused(M9),
  }),
  removeAll(["D13", "of all ConfigMaps, tenant", "tenant"], () => ""),
  {
    id: "D13b",
    title: "after a DELETECOLLECTION by the tenant the anchor is still there",
    ...passed,
    run: async (stage) => {
      const { name } = await stage.plainNamespace();
      const place = await stage.anchor({}, name);
      await stage.send("tenant", "DELETE", collection(name));
      return about(stage.send("masters", "GET", place.path), place);
    },
  },
  removeAll(["D14", "by label, cluster-admin", "clusterAdmin"], () => "?labelSelector=set%3Done"),
  removeAll(
    ["D15", "by field, cluster-admin", "clusterAdmin"],
    ({ name }) => `?fieldSelector=metadata.name%3D${name}`,
  ),
  removeAll(
    ["D16", "dry run, cluster-admin", "clusterAdmin"],
    () => "?dryRun=All&labelSelector=set%3Done",
  ),
  kubectlRow(["D17", "delete configmap"], ({ name }) => ["delete", "configmap", name], exitOne(M9)),
  kubectlRow(
    ["D18", "delete --dry-run=server"],
    ({ name }) => ["delete", "configmap", name, "--dry-run=server"],
    exitOne(M9),
  ),
  kubectlRow(
    ["D19", "delete --force --cascade=orphan"],
    ({ name }) => ["delete", "configmap", name, "--force", "--grace-period=0", "--cascade=orphan"],
    exitOne(M9),
  ),
  kubectlRow(["D20", "replace --force"], () => ["replace", "--force", "-f", "-"], {
    input: plain,
    ...exitOne(M9),
  }),
  kubectlRow(
    ["D21", "delete configmap --all"],
    () => ["delete", "configmap", "--all"],
    exitOne(M9),
  ),
  kubectlRow(
    ["D22", "annotate protected-"],
    ({ name }) => ["annotate", "configmap", name, `${guarded}-`],
    exitOne(M5),
  ),
  kubectlRow(
    ["D23", "apply --server-side without the markers"],
    () => ["apply", "--server-side", "--force-conflicts", "--field-manager=unknown", "-f", "-"],
    {
      input: (place) => ({
        ...plain(place),
        metadata: { ...plain(place).metadata, annotations: { [guarded]: "false" } },
      }),
      ...exitOne(M5),
    },
  ),
  kubectlRow(["D24", "apply without the markers"], () => ["apply", "-f", "-"], {
    input: plain,
    expected: 0,
  }),
  kubectlRow(["D25", "replace"], () => ["replace", "-f", "-"], { input: plain, ...exitOne(M5) }),
  remove(["D26", "dry run, controller: the enforcement probe", "controller"], {
    query: "?dryRun=All",
    ...refused(M2),
  }),
  remove(["D27", "with a wrong uid, controller", "controller"], {
    body: () => ({ preconditions: { uid: "00000000-0000-0000-0000-000000000000" } }),
    expected: 409,
  }),
  remove(["D28", "controller", "controller"], passed),
  remove(["D29", "with the uid as precondition, controller", "controller"], {
    body: ({ uid }) => ({ preconditions: { uid } }),
    ...passed,
  }),
];
