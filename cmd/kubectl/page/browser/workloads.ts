import type { StatusItem } from "../../fleet/status-item.ts";
import type { WorkloadItem } from "../../fleet/workloads.ts";
import type { ReportDocument } from "../../output/report.ts";
import { queryOf } from "../installation-view.ts";
import { shownAge } from "../shown-age.ts";
import { html, type Markup } from "./html.ts";
import { FirstOf, Prose, Section, Table } from "./parts.ts";
import { minuteOf, useDocument, Waiting } from "./reading.ts";

type WorkloadList = ReportDocument<
  "WorkloadList",
  { readonly workloads: number; readonly ready: number },
  WorkloadItem
>;

interface WorkloadsProps {
  readonly item: StatusItem;
  readonly now: Date;
}

const first = 10;

/** How many of the workloads of users are ready, and the others. They may be many objects, so they are read once a minute. */
export function Workloads({ item, now }: WorkloadsProps): Markup {
  const path = `workloads?${queryOf(item)}&broken=true`;
  const reading = useDocument<WorkloadList>(path, String(minuteOf(now)));
  const { summary, items = [], errors = [] } = reading.document ?? {};
  const isCounted = summary !== undefined && errors.length === 0;
  const count = isCounted ? ` ${summary.ready}/${summary.workloads}` : "";
  const show = (shown: readonly WorkloadItem[]): Markup =>
    html`<${WorkloadTable} workloads=${shown} now=${now} />`;
  return html`<${Section} title=${`Workloads of its users${count}`}>
    <${Waiting} reading=${reading} />
    ${items.length === 0 ? null : html`<${FirstOf} items=${items} first=${first} show=${show} />`}
    ${errors.map(({ message }) => html`<p class="bad-text"><${Prose} text=${message} /></p>`)}
  <//>`;
}

function WorkloadTable({
  workloads,
  now,
}: {
  readonly workloads: readonly WorkloadItem[];
  readonly now: Date;
}): Markup {
  const rows = workloads.map(({ kind, namespace, name, since, status, reason, message }) => [
    `${kind} ${namespace}/${name}`,
    since === null ? "" : shownAge(since, now),
    reason === "" ? status : reason,
    message,
  ]);
  const headers = ["Workload", "Since", "Reason", "Message"];
  return html`<${Table} label="Workloads that are not ready" headers=${headers} rows=${rows} />`;
}
