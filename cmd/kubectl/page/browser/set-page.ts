import { type FleetSetKind, fleetSetKinds } from "../../../../api/fleet-set.ts";
import type { RolloutItem, RolloutStatus } from "../../hub/rollout-item.ts";
import { shortNameOf } from "../../output/names.ts";
import { keyOf } from "../fleet-view.ts";
import { type NotableView, setView, type StageView } from "../set-view.ts";
import { shownAge } from "../shown-age.ts";
import type { DetailProps } from "./fleet-page.ts";
import { html, type Markup } from "./html.ts";
import { Back, Badge, Bar, Commands, Facts, NotFound, Prose, Section, Table } from "./parts.ts";
import { useDocument, Waiting } from "./reading.ts";

interface SetProps extends DetailProps {
  readonly setKey: string;
}

/** The page of one fleet set. */
export function SetPage({ setKey, ...props }: SetProps): Markup {
  const { revision, filter } = props;
  const sets = useDocument<RolloutStatus>("sets", String(revision));
  const item = sets.document?.items.find((one) => keyOf(one) === setKey);
  if (item === undefined && sets.document !== undefined) {
    return html`<${NotFound} text="The fleet has no such set now." />`;
  }
  const [kind = "", namespace, name = ""] = setKey.split("/").map(decodeURIComponent);
  const title = isSetKind(kind) ? shortNameOf({ kind, name }) : name;
  return html`<${Back} filter=${filter} />
    <h1 tabindex="-1">
      <${Prose} text=${title} />${" "}
      <span class="dim"><${Prose} text=${`${namespace} · fleet set`} /></span>
    </h1>
    <${Waiting} reading=${sets} />
    ${item && html`<${Rollout} item=${item} ...${props} />`}`;
}

function isSetKind(kind: string): kind is FleetSetKind {
  return Object.hasOwn(fleetSetKinds, kind);
}

function Rollout({
  item,
  status,
  now,
  knfleet,
  isRecorded,
}: DetailProps & { readonly item: RolloutItem }): Markup {
  const { phase, stage, waitingFor } = item;
  const { tone, stages, notable, counts, next } = setView(item, status.items, {
    knfleet,
    isRecorded,
  });
  return html`<div class=${`why-box ${tone}`}>
      <b>${phase ?? "Unknown"}</b
      >${stage === null ? null : html` <span class="dim">stage ${stage}</span>`}
      ${counts === null ? null : html`<p>${counts}</p>`}
      ${waitingFor === null ? null : html`<p>Waiting: <${Prose} text=${waitingFor} /></p>`}
    </div>
    <${Facts} facts=${factsOf(item, now)} />
    <${Section} title="Stages">
      ${stages.length === 0 ? html`<p class="dim">No controller has made stages yet.</p>` : null}
      <ul class="stages">
        ${stages.map((one) => html`<${Stage} view=${one} now=${now} />`)}
      </ul>
    <//>
    ${notable.length === 0 ? null : html`<${Notable} notable=${notable} />`}
    <${Section} title="Next"> <${Commands} commands=${next} /> <//>
    <${Section} title="Conditions"> <${Conditions} item=${item} now=${now} /> <//>`;
}

function factsOf(item: RolloutItem, now: Date) {
  const { version, startedAt, updateRevision, currentRevision, failedRevision } = item;
  return [
    ["Version", version],
    ["Begun", startedAt === null ? null : `${shownAge(startedAt, now)} ago`],
    ["Revision", updateRevision],
    ["Revision before", currentRevision === updateRevision ? null : currentRevision],
    ["Given up", failedRevision],
  ];
}

/** A stage in words, and the same as a bar. */
function Stage({ view, now }: { readonly view: StageView; readonly now: Date }): Markup {
  const { stage, tone, parts, verified } = view;
  const { name, state, clusters, startedAt, doneAt, approvedBy } = stage;
  const about = [
    verified,
    doneAt === null && startedAt !== null ? `begun ${shownAge(startedAt, now)} ago` : null,
    doneAt === null ? null : `done ${shownAge(doneAt, now)} ago`,
    approvedBy === null ? null : `approved by ${approvedBy}`,
  ].filter((text) => text !== null);
  const words = parts.map(({ title, count }) => `${count} ${title}`).join(", ");
  return html`<li>
    <div class="stage">
      <b>${name}</b> <${Badge} tone=${tone ?? ""} text=${state} />
      <span class="dim">${about.join(" · ")}</span>
      <span class="number">${stage.done}/${clusters}</span>
    </div>
    <${Bar} parts=${parts} />
    <p class="dim">${words === "" ? "No clusters" : words}</p>
  </li>`;
}

function Notable({ notable }: { readonly notable: readonly NotableView[] }): Markup {
  const rows = notable.map(({ cluster, key, tone, state, reason, message }) => [
    key === null ? cluster : html`<a href=${`#/cluster/${key}`}><${Prose} text=${cluster} /></a>`,
    html`<${Badge} tone=${tone} text=${state} />`,
    reason,
    message,
  ]);
  const headers = ["Cluster", "State", "Reason", "Message"];
  return html`<${Section} title="Clusters that are not well">
    <${Table} label="Clusters that are not well" headers=${headers} rows=${rows} />
  <//>`;
}

function Conditions({ item, now }: { readonly item: RolloutItem; readonly now: Date }): Markup {
  const rows = item.conditions.map(({ type, status, reason, message, since }) => [
    type,
    status,
    reason,
    since === null ? "" : shownAge(since, now),
    message,
  ]);
  const headers = ["Condition", "Status", "Reason", "Since", "Message"];
  return html`<${Table} label="Conditions" headers=${headers} rows=${rows} />`;
}
