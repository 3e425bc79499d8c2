import { timestampOf } from "../../../../api/conditions.ts";
import { byText } from "../../../../api/fields.ts";
import { readUserWorkloads } from "../../../../controller/verify/read-workloads.ts";
import {
  isNewlyBroken,
  isReadyWorkload,
  type UserWorkload,
} from "../../../../installation/user-workloads.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { Report } from "../../main/report.ts";
import { age, type Columns, shortened, toned, wide } from "../../output/columns.ts";
import { objectName } from "../../output/names.ts";
import { targetsOf } from "../../spokes/read-clusters.ts";

type Item = ReturnType<typeof itemOf>;

export interface WorkloadFilter {
  readonly broken: boolean;
  /** Only what broke in this time, in ms; undefined: all. */
  readonly sinceMs: number | undefined;
}

/** The workloads of users on the clusters of the selected installations, by cluster, namespace, kind and name. Throws only when the hub cannot be read. */
export async function listWorkloads(
  fleet: Fleet,
  { broken, sinceMs }: WorkloadFilter,
): Promise<Report<Item>> {
  const { components, missing } = await fleet.installations();
  const read = await fleet.read(targetsOf(components), ({ client }, deadline) =>
    readUserWorkloads(client, deadline),
  );
  const now = fleet.now().getTime();
  const isAsked = (one: UserWorkload): boolean =>
    (!broken || !isReadyWorkload(one)) &&
    (sinceMs === undefined || isNewlyBroken(one, now - sinceMs));
  const all = read.all.flatMap(([, { workloads }]) => workloads);
  const items = read.all
    .flatMap(([id, { workloads }]) => workloads.filter(isAsked).map((one) => itemOf(id, one)))
    .toSorted(
      byText(({ cluster, namespace, kind, name }) =>
        [cluster, namespace, kind, name].join("\u0000"),
      ),
    );
  const unlisted = read.all.flatMap(([id, { unread }]) =>
    unread.map((message) => ({ reason: "Forbidden", message, cluster: id || null }) as const),
  );
  const ready = all.filter(isReadyWorkload).length;
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

const columns: Columns<Item> = {
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
