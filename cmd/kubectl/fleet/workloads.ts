import { timestampOf } from "../../../api/conditions.ts";
import { byText } from "../../../api/fields.ts";
import { targetId } from "../../../api/keys.ts";
import { readUserWorkloads } from "../../../controller/verify/read-workloads.ts";
import {
  componentOfWorkload,
  isNewlyBroken,
  isReadyWorkload,
  type UserWorkload,
} from "../../../installation/user-workloads.ts";
import type { Report } from "../main/report.ts";
import { age, type Columns, shortened, toned, wide } from "../output/columns.ts";
import { objectName } from "../output/names.ts";
import { targetsOf } from "../spokes/read-clusters.ts";
import type { Fleet } from "./fleet.ts";

/** A workload in a document. */
export type WorkloadItem = ReturnType<typeof itemOf>;

export interface WorkloadFilter {
  readonly broken: boolean;
  /** Only what broke in this time, in ms; undefined: all. */
  readonly sinceMs: number | undefined;
}

/** The workloads of users that need the selected installations, by cluster, namespace, kind and name. Throws only when the hub cannot be read. */
export async function listWorkloads(
  fleet: Fleet,
  { broken, sinceMs }: WorkloadFilter,
): Promise<Report<WorkloadItem>> {
  const { components, missing } = await fleet.installations();
  const read = await fleet.read(targetsOf(components), ({ client }, deadline) =>
    readUserWorkloads(client, deadline),
  );
  const now = fleet.now().getTime();
  const isAsked = (one: UserWorkload): boolean =>
    (!broken || !isReadyWorkload(one)) &&
    (sinceMs === undefined || isNewlyBroken(one, now - sinceMs));
  const selected = new Set(components.map((one) => `${one.kind} ${targetId(one)}`));
  const all = read.all.flatMap(([id, { workloads }]) =>
    workloads
      .filter((workload) => selected.has(`${componentOfWorkload(workload)} ${id}`))
      .map((workload) => ({ id, workload })),
  );
  const items = all
    .filter(({ workload }) => isAsked(workload))
    .map(({ id, workload }) => itemOf(id, workload))
    .toSorted(
      byText(({ cluster, namespace, kind, name }) =>
        [cluster, namespace, kind, name].join("\u0000"),
      ),
    );
  const unlisted = read.all.flatMap(([id, { unread }]) =>
    unread.map((message) => ({ reason: "Forbidden", message, cluster: id || null }) as const),
  );
  const ready = all.filter(({ workload }) => isReadyWorkload(workload)).length;
  return {
    items,
    summary: { workloads: all.length, ready, broken: all.length - ready, ...read.counts },
    errors: [...missing, ...read.unread, ...unlisted],
    columns,
    name: ({ cluster, namespace, kind, name }) =>
      objectName(cluster, { namespace, type: kind.toLowerCase(), name }),
    notes: () => (items.length === 0 ? [noneText(all.length)] : []),
  };
}

function noneText(all: number): string {
  return all === 0 ? "No workloads found." : `None of ${all} workloads is asked for.`;
}

function itemOf(id: string, workload: UserWorkload) {
  const { kind, namespace, name, ready, reason, message, since, createdAt } = workload;
  const isReady = isReadyWorkload(workload);
  return {
    cluster: id || null,
    namespace,
    kind,
    name,
    ready: isReady,
    status: workload.isObserved ? ready : "NotObserved",
    reason,
    message: isReady ? "" : message,
    since: timeOf(since),
    createdAt: timeOf(createdAt),
  };
}

function timeOf(ms: number | undefined): string | null {
  return ms === undefined ? null : timestampOf(new Date(ms));
}

const columns: Columns<WorkloadItem> = {
  CLUSTER: ({ cluster }) => cluster ?? "<hub>",
  NAMESPACE: ({ namespace }) => namespace,
  KIND: ({ kind }) => kind,
  NAME: ({ name }) => name,
  READY: ({ ready, status }) => toned(ready ? "good" : "bad", status),
  SINCE: ({ since }) => age(since),
  REASON: ({ reason }) => reason,
  AGE: wide(({ createdAt }) => age(createdAt)),
  MESSAGE: shortened(({ message }) => message),
};
