import type { Component } from "../../../../api/component.ts";
import { byText } from "../../../../api/fields.ts";
import { nameId } from "../../../../api/keys.ts";
import type { ClustersRead, Fleet } from "../../fleet/fleet.ts";
import type { Report } from "../../main/report.ts";
import { age, type Columns, onCluster, toned, wide } from "../../output/columns.ts";
import { objectName } from "../../output/names.ts";
import { emptyNotes } from "../../output/notes.ts";
import type { ReportError } from "../../output/report.ts";
import type { Cell } from "../../output/table.ts";
import { workloadsOf, missingWorkloads } from "../../spokes/live-view.ts";
import type { SpokeFacts } from "../../spokes/spoke-facts.ts";
import { shortWorkloadName } from "../../spokes/workload-fact.ts";

type Item = ReturnType<typeof itemsOf>[number];

/** The Knative workloads of the selected installations, by cluster, namespace and name. Throws only when the hub cannot be read. */
export async function listDeployments(fleet: Fleet): Promise<Report<Item>> {
  const { components, missing } = await fleet.installations();
  const read = await fleet.readInstalled(components);
  const next = read.counts.clusters === 0 ? emptyNotes(await fleet.asked()) : [];
  return { ...deploymentReport(components, read, missing), next: () => next };
}

/** What was read of the clusters. `missing`: an error for each name that no installation has. */
export function deploymentReport(
  components: readonly Component[],
  read: ClustersRead<SpokeFacts>,
  missing: readonly ReportError[],
): Report<Item> {
  const { clusters, unread } = read.counts;
  const items = components
    .flatMap((component) => itemsOf(component, read.of(component)))
    .toSorted(
      byText(({ cluster, kind, namespace, name, installation }) =>
        [cluster?.namespace, cluster?.name, namespace, name, installation.name, kind].join(
          "\u0000",
        ),
      ),
    );
  const present = items.filter((item) => !item.missing);
  return {
    items,
    summary: {
      clusters,
      unread,
      deployments: present.length,
      notAvailable: present.filter(({ available }) => !available).length,
      // Deployments in inventories that the clusters do not have; the upstream operator keeps no inventory.
      missing: items.length - present.length,
    },
    errors: [...missing, ...read.unread],
    columns,
    name: ({ cluster, kind, namespace, name }) =>
      objectName(cluster && nameId(cluster), {
        namespace,
        type: `${kind.toLowerCase()}.apps`,
        name,
      }),
    notes: () => (items.length === 0 && unread < clusters ? ["No Knative deployments found."] : []),
  };
}

const columns: Columns<Item> = {
  CLUSTER: onCluster(({ cluster }) => cluster),
  NAMESPACE: ({ namespace }) => namespace,
  NAME: shortWorkloadName,
  READY: readyCell,
  "UP-TO-DATE": ({ replicas }) => replicas.upToDate,
  AVAILABLE: ({ replicas }) => replicas.available,
  AGE: ({ createdAt }) => age(createdAt),
  IMAGES: wide(({ images }) => images.join(",")),
  INSTALLATION: wide(
    ({ installation: { kind, namespace, name } }) => `${kind} ${namespace}/${name}`,
  ),
};

function readyCell({ state, replicas }: Item): Cell {
  const text = `${replicas.ready}/${replicas.desired}`;
  if (state === null) return toned("bad", "missing");
  if (state === "scaledToZero") return toned("warning", `${text} (scaled to zero)`);
  if (state === "rollingOut") return toned("warning", `${text} (in progress)`);
  return toned(state === "available" ? "good" : "bad", text);
}

/** The workloads of an installation: those of its cluster, and those of its inventory that are not there. */
function itemsOf(component: Component, facts: SpokeFacts | undefined) {
  if (facts === undefined) return [];
  const { kind, metadata, spec } = component;
  const place = {
    cluster: spec?.clusterProfileRef ?? null,
    installation: { kind, namespace: metadata.namespace, name: metadata.name },
  };
  const present = workloadsOf(component, facts).map((fact) => ({
    ...place,
    missing: false,
    kind: fact.kind,
    namespace: fact.namespace,
    name: fact.name,
    available: fact.available,
    state: fact.state,
    progress: fact.progress,
    replicas: {
      desired: fact.desired,
      ready: fact.ready,
      upToDate: fact.upToDate,
      available: fact.availableReplicas,
    },
    createdAt: fact.createdAt,
    images: fact.images,
  }));
  const gone = missingWorkloads(component, facts).map(({ kind: type, namespace, name }) => {
    const state = null;
    const replicas = { desired: 0, ready: 0, upToDate: 0, available: 0 };
    const none = { missing: true, replicas, createdAt: null, images: [] };
    return {
      ...place,
      kind: type,
      namespace,
      name,
      available: false,
      state,
      progress: "",
      ...none,
    };
  });
  return [...present, ...gone];
}
