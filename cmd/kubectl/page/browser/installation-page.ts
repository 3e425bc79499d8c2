import { workloadName } from "../../../../installation/workload-facts.ts";
import type { EventItem } from "../../fleet/events.ts";
import type { StatusItem } from "../../fleet/status-item.ts";
import type { FleetStatus } from "../../fleet/status.ts";
import type { TreeNode } from "../../fleet/tree/tree-node.ts";
import { conditionTone } from "../../output/condition-tone.ts";
import { shortNameOf } from "../../output/names.ts";
import type { ReportDocument } from "../../output/report.ts";
import { clusterKey, factsOfCluster } from "../cluster-view.ts";
import { type EventLine, eventLines } from "../events-view.ts";
import { keyOf, liveText, pageStateOf } from "../fleet-view.ts";
import { conditionLines, deploymentBadge, nextCommands, queryOf } from "../installation-view.ts";
import { shownAge } from "../shown-age.ts";
import { Diagnose } from "./diagnosis.ts";
import { holds } from "./documents.ts";
import type { DetailProps } from "./fleet-page.ts";
import { Graph } from "./graph.ts";
import { html, type Markup } from "./html.ts";
import { Back, Badge, Commands, Facts, FirstOf, NotFound, Prose, Section, Table } from "./parts.ts";
import { useClusters, useDocument, useHubPart, Waiting } from "./reading.ts";
import { Workloads } from "./workloads.ts";

interface InstallationProps extends DetailProps {
  readonly installationKey: string;
}

/** The page of one installation. Where it is in trouble, the diagnosis comes first, and begins at once. */
export function InstallationPage({
  status,
  now,
  knfleet,
  filter,
  installationKey,
  isServed,
  isRecorded,
}: InstallationProps): Markup {
  const item = status.items.find((one) => keyOf(one) === installationKey);
  const clusters = useClusters(item?.cluster !== null, now);
  if (item === undefined) {
    return html`<${NotFound} text="The fleet has no such installation now." />`;
  }
  const isTroubled = item.severity === "error" || item.severity === "warning";
  const diagnosis = isServed
    ? html`<${Diagnose}
        key=${installationKey}
        targets=${shortNameOf(item)}
        namespace=${item.namespace}
        isWanted=${isTroubled}
      />`
    : null;
  return html`<${Back} filter=${filter} />
    <h1 tabindex="-1">
      <${Prose} text=${shortNameOf(item)} />${" "}
      <span class="dim"><${Prose} text=${item.namespace} /></span>
    </h1>
    <${Why} item=${item} now=${now} />
    ${isTroubled ? diagnosis : null}
    <${Facts} facts=${factsOf(item, factsOfCluster(item, clusters.document?.items ?? []), now)} />
    <${Section} title="Next">
      <${Commands} commands=${nextCommands(item, { knfleet, isRecorded })} />
    <//>
    ${
      holds(`status?${queryOf(item)}`)
        ? html`<${Details} key=${installationKey} item=${item} now=${now} />
            ${isServed && !isRecorded ? html`<${Workloads} key=${`${installationKey} workloads`} item=${item} now=${now} />` : null}`
        : html`<p class="dim">
            This file has no conditions, graph and Events. kubectl knfleet ui shows them.
          </p>`
    }
    ${isTroubled ? null : diagnosis}`;
}

/** Why it is not healthy. */
function Why({ item, now }: { readonly item: StatusItem; readonly now: Date }): Markup {
  const { reason, code, since, message } = item;
  if (reason === null) return null;
  return html`<div class=${`why-box ${pageStateOf(item)}`}>
    <b>${reason}</b> <span class="dim">${code}</span>
    ${since === null ? null : html`<span class="dim"> for ${shownAge(since, now)}</span>`}
    <p><${Prose} text=${message} /></p>
  </div>`;
}

function factsOf(item: StatusItem, ofCluster: Parameters<typeof Facts>[0]["facts"], now: Date) {
  const { cluster, live, hub } = item;
  const { feedback } = live;
  return [
    [
      "Cluster",
      cluster === null
        ? "the hub"
        : html`<a href=${`#/cluster/${clusterKey(cluster)}`}><${Prose} text=${cluster.name} /></a>`,
    ],
    ["Version", item.version],
    ["Wanted", item.wantedVersion],
    ["Hub says", hub.state],
    ["Cluster says", liveText(item.live)],
    ["Not available", [...live.notAvailable, ...live.missing].join(", ")],
    ["Namespace", item.targetNamespace],
    ...ofCluster,
    ["Feedback of", feedback === null ? null : `ManagedCluster ${feedback.cluster}`],
    [
      "Last report",
      feedback === null || feedback.heardAt === null
        ? null
        : `${shownAge(feedback.heardAt, now)} ago`,
    ],
  ];
}

type Trees = ReportDocument<"Tree", unknown, TreeNode>;
type Events = ReportDocument<"EventList", unknown, EventItem>;

interface DetailsProps {
  readonly item: StatusItem;
  readonly now: Date;
}

/** What the hub knows is shown at once; a cluster that does not answer keeps its own part waiting for seconds. */
function Details({ item, now }: DetailsProps): Markup {
  const query = queryOf(item);
  // Read anew when the row changes.
  const stamp = JSON.stringify([item.hub, item.live]);
  const hub = useHubPart<FleetStatus>(`status?${query}`, stamp);
  const status = useDocument<FleetStatus>(`status?${query}`, stamp);
  const tree = useDocument<Trees>(`tree?${query}`, stamp);
  const said = (hub.document ?? status.document)?.items[0]?.detail;
  const detail = status.document?.items[0]?.detail;
  return html`<div class="pair tables">
      <${Section} title="Conditions">
        ${said ? html`<${Conditions} detail=${said} now=${now} />` : html`<${Waiting} reading=${status} />`}
      <//>
      <${Section} title="Deployments">
        <${Waiting} reading=${status} />
        ${detail && html`<${Deployments} detail=${detail} />`}
      <//>
    </div>
    <div class="pair">
      <${Section} title="From the hub to the pods">
        <${Waiting} reading=${tree} />
        ${tree.document && html`<${Graph} trees=${tree.document.items} />`}
      <//>
      <${Section} title="Events">
        <${Told} path=${`events?${query}`} stamp=${stamp} now=${now} />
      <//>
    </div>`;
}

interface ToldProps {
  readonly path: string;
  readonly stamp: string;
  readonly now: Date;
}

/** Events of the hub at once, and then also those of the cluster. */
function Told({ path, stamp, now }: ToldProps): Markup {
  const hub = useHubPart<Events>(path, stamp);
  const all = useDocument<Events>(path, stamp);
  const { items = [], errors = [] } = all.document ?? hub.document ?? {};
  const isNone = all.document !== undefined && items.length === 0 && errors.length === 0;
  return html`${isNone ? html`<p class="dim">There are no Events.</p>` : null}
    <${TimeLine} events=${items} now=${now} />
    ${errors.map(({ message }) => html`<p class="bad-text"><${Prose} text=${message} /></p>`)}
    <${Waiting} reading=${all} />`;
}

type Detail = NonNullable<StatusItem["detail"]>;

const tones = { good: "healthy", progress: "progress", warning: "warning", bad: "bad" } as const;

function Conditions({ detail, now }: { readonly detail: Detail; readonly now: Date }): Markup {
  const rows = conditionLines(detail.conditions).map(({ types, condition }) => {
    const { type, status, reason, code, message, since } = condition;
    return [
      types.join(", "),
      html`<${Badge} tone=${tones[conditionTone({ type, status, code })]} text=${status} />`,
      html`${reason} <span class="dim">${code}</span>`,
      since === null ? "" : shownAge(since, now),
      message ?? "",
    ];
  });
  const headers = ["Condition", "Status", "Reason", "Since", "Message"];
  return html`<${Table} label="Conditions" headers=${headers} rows=${rows} />`;
}

function Deployments({ detail }: { readonly detail: Detail }): Markup {
  if (detail.deployments === null) return html`<p class="dim">The cluster was not read.</p>`;
  const rows = [
    ...detail.deployments.map(({ kind, namespace, name, state, progress, ready, desired }) => [
      workloadName({ kind, name }),
      namespace,
      `${ready}/${desired}`,
      html`<${Badge} ...${deploymentBadge(state)} />`,
      state === "scaledToZero" ? "" : progress,
    ]),
    ...detail.missing.map((name) => [
      name,
      "",
      "",
      html`<${Badge} tone="bad" text="Missing" />`,
      "",
    ]),
  ];
  const headers = ["Deployment", "Namespace", "Ready", "State", "Why"];
  return html`<${Table} label="Deployments" headers=${headers} rows=${rows} />`;
}

const firstEvents = 10;

interface TimeLineProps {
  readonly events: readonly EventItem[];
  readonly now: Date;
}

function TimeLine({ events, now }: TimeLineProps): Markup {
  if (events.length === 0) return null;
  const show = (lines: readonly EventLine[]) =>
    html`<ol class="events">
      ${lines.map((line) => html`<${EventEntry} ...${line} now=${now} />`)}
    </ol>`;
  return html`<${FirstOf} items=${eventLines(events)} first=${firstEvents} show=${show} />`;
}

function EventEntry({ event, times, others, now }: EventLine & { readonly now: Date }): Markup {
  const { time, type, reason, message, about, cluster } = event;
  const more = others === 0 ? "" : ` and ${others} more`;
  return html`<li class=${type === "Warning" ? "bad" : "healthy"}>
    <span class="number">${time === null ? "" : shownAge(time, now)}</span>
    <div>
      <b>${reason}</b>${times > 1 ? ` ×${times}` : ""}${" "}
      <span class="dim">
        <${Prose} text=${`${type} · ${about.kind} ${about.name}${more} · ${cluster ?? "hub"}`} />
      </span>
      <p><${Prose} text=${message} /></p>
    </div>
  </li>`;
}
