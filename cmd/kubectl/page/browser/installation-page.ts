import { useState } from "preact/hooks";

import type { EventItem } from "../../commands/events/events.ts";
import type { StatusItem } from "../../commands/status/status-item.ts";
import type { FleetStatus } from "../../commands/status/status.ts";
import type { TreeNode } from "../../commands/tree/tree-node.ts";
import { shortNameOf } from "../../output/names.ts";
import type { Report } from "../../output/report.ts";
import { clusterKey } from "../cluster-view.ts";
import { type EventLine, eventLines } from "../events-view.ts";
import { keyOf, liveText, pageStateOf } from "../fleet-view.ts";
import { deploymentBadge, nextCommands, queryOf } from "../installation-view.ts";
import { shownAge } from "../shown-age.ts";
import { Diagnose } from "./diagnosis.ts";
import { holds } from "./documents.ts";
import type { DetailProps } from "./fleet-page.ts";
import { Graph } from "./graph.ts";
import { html, type Markup } from "./html.ts";
import { Back, Badge, Command, Facts, NotFound, Section, Table } from "./parts.ts";
import { useDocument, Waiting } from "./reading.ts";

interface InstallationProps extends DetailProps {
  readonly installationKey: string;
}

/** The page of one installation. */
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
  if (item === undefined) {
    return html`<${NotFound} text="The fleet has no such installation now." />`;
  }
  return html`<${Back} filter=${filter} />
    <h1 tabindex="-1">${shortNameOf(item)} <span class="dim">${item.namespace}</span></h1>
    <${Why} item=${item} now=${now} />
    <${Facts} facts=${factsOf(item, now)} />
    <${Section} title="Next">
      ${nextCommands(item, { knfleet, isRecorded }).map((next) => html`<${Command} ...${next} />`)}
    <//>
    ${
      holds(`status?${queryOf(item)}`)
        ? html`<${Details} key=${installationKey} item=${item} now=${now} isServed=${isServed} />`
        : html`<p class="dim">
            This file has no conditions, graph and Events. kubectl knfleet ui shows them.
          </p>`
    }`;
}

/** Why it is not healthy. */
function Why({ item, now }: { readonly item: StatusItem; readonly now: Date }): Markup {
  const { reason, code, since, message } = item;
  if (reason === null) return null;
  return html`<div class=${`why-box ${pageStateOf(item)}`}>
    <b>${reason}</b> <span class="dim">${code}</span>
    ${since === null ? null : html`<span class="dim"> for ${shownAge(since, now)}</span>`}
    <p>${message}</p>
  </div>`;
}

function factsOf(item: StatusItem, now: Date) {
  const { cluster, live, hub } = item;
  const { feedback } = live;
  return [
    [
      "Cluster",
      cluster === null
        ? "the hub"
        : html`<a href=${`#/cluster/${clusterKey(cluster)}`}>${cluster.name}</a>`,
    ],
    ["Version", item.version],
    ["Wanted", item.wantedVersion],
    ["Hub says", hub.state],
    ["Cluster says", liveText(item.live)],
    ["Not available", [...live.notAvailable, ...live.missing].join(", ")],
    ["Namespace", item.targetNamespace],
    ["Provider", live.provider],
    ["Server", live.server],
    ["Kubernetes", live.kubernetesVersion],
    ["Feedback of", feedback === null ? null : `ManagedCluster ${feedback.cluster}`],
    [
      "Last report",
      feedback === null || feedback.heardAt === null
        ? null
        : `${shownAge(feedback.heardAt, now)} ago`,
    ],
  ];
}

type Trees = Report<"Tree", unknown, TreeNode>;
type Events = Report<"EventList", unknown, EventItem>;

interface DetailsProps {
  readonly item: StatusItem;
  readonly now: Date;
  readonly isServed: boolean;
}

function Details({ item, now, isServed }: DetailsProps): Markup {
  const query = queryOf(item);
  // Read anew when the row changes.
  const stamp = JSON.stringify([item.hub, item.live]);
  const status = useDocument<FleetStatus>(`status?${query}`, stamp);
  const tree = useDocument<Trees>(`tree?${query}`, stamp);
  const events = useDocument<Events>(`events?${query}`, stamp);
  const detail = status.document?.items[0]?.detail;
  return html`<div class="pair">
      <${Section} title="Conditions">
        <${Waiting} reading=${status} />
        ${detail && html`<${Conditions} detail=${detail} now=${now} />`}
      <//>
      <${Section} title="Deployments"> ${detail && html`<${Deployments} detail=${detail} />`} <//>
    </div>
    <div class="pair">
      <${Section} title="From the hub to the pods">
        <${Waiting} reading=${tree} />
        ${tree.document && html`<${Graph} trees=${tree.document.items} />`}
      <//>
      <${Section} title="Events">
        <${Waiting} reading=${events} />
        ${events.document && html`<${TimeLine} events=${events.document.items} now=${now} />`}
      <//>
    </div>
    ${
      isServed
        ? html`<${Diagnose} targets=${shortNameOf(item)} namespace=${item.namespace} />`
        : null
    }`;
}

type Detail = NonNullable<StatusItem["detail"]>;

/** The tone of a condition that is True. */
function toneOfTrue(type: string): "healthy" | "progress" | "bad" {
  if (type === "Reconciling") return "progress";
  return ["Contested", "Stalled"].includes(type) ? "bad" : "healthy";
}

function Conditions({ detail, now }: { readonly detail: Detail; readonly now: Date }): Markup {
  const rows = detail.conditions.map(({ type, status, reason, code, message, since }) => [
    type,
    html`<${Badge} tone=${status === "True" ? toneOfTrue(type) : "bad"} text=${status} />`,
    html`${reason} <span class="dim">${code}</span>`,
    since === null ? "" : shownAge(since, now),
    message,
  ]);
  const headers = ["Condition", "Status", "Reason", "Since", "Message"];
  return html`<${Table} label="Conditions" headers=${headers} rows=${rows} />`;
}

function Deployments({ detail }: { readonly detail: Detail }): Markup {
  if (detail.deployments === null) return html`<p class="dim">The cluster was not read.</p>`;
  const rows = [
    ...detail.deployments.map(({ namespace, name, state, progress, ready, desired }) => [
      name,
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

function TimeLine({
  events,
  now,
}: {
  readonly events: readonly EventItem[];
  readonly now: Date;
}): Markup {
  const [isWhole, setWhole] = useState(false);
  if (events.length === 0) return html`<p class="dim">There are no Events.</p>`;
  const lines = eventLines(events);
  const isCut = !isWhole && lines.length > firstEvents;
  return html`<ol class="events">
      ${(isCut ? lines.slice(0, firstEvents) : lines).map((line) => html`<${EventEntry} ...${line} now=${now} />`)}
    </ol>
    ${
      isCut
        ? html`<p>
            <button type="button" onClick=${() => setWhole(true)}>Show all ${lines.length}</button>
          </p>`
        : null
    }`;
}

function EventEntry({ event, times, others, now }: EventLine & { readonly now: Date }): Markup {
  const { time, type, reason, message, about, cluster } = event;
  const more = others === 0 ? "" : ` and ${others} more`;
  return html`<li class=${type === "Warning" ? "bad" : "healthy"}>
    <span class="number">${time === null ? "" : shownAge(time, now)}</span>
    <div>
      <b>${reason}</b>${times > 1 ? ` ×${times}` : ""}${" "}
      <span class="dim">${type} · ${about.kind} ${about.name}${more} · ${cluster ?? "hub"}</span>
      <p>${message}</p>
    </div>
  </li>`;
}
