import { useMemo, useRef, useState } from "preact/hooks";

import type { FleetStatus } from "../../fleet/status.ts";
import { shortNameOf } from "../../output/names.ts";
import { clusterKey } from "../cluster-view.ts";
import {
  type FleetFilter,
  type FleetRow,
  type FleetView,
  fleetView,
  inShownOrder,
  keyOf,
  needsTraits,
  outdated,
  pageStates,
  verdictOf,
  type VersionView,
} from "../fleet-view.ts";
import { type SetRow, setRows } from "../set-view.ts";
import { shownAge } from "../shown-age.ts";
import { FirstSteps, Wrong } from "./attention.ts";
import { Ends } from "./ends.ts";
import { html, type Markup } from "./html.ts";
import { Badge, Bar, Prose, Section } from "./parts.ts";
import { traitsOf, useClusters, Waiting } from "./reading.ts";
import type { SetFilter } from "./use-address.ts";

/** What every page needs. */
export interface PageProps {
  readonly status: FleetStatus;
  /** The time that ages are counted to. */
  readonly now: Date;
  /** The beginning of commands of kubectl. */
  readonly kubectl: string;
  /** The beginning of our commands. */
  readonly knfleet: string;
  /** The filter of the fleet, also of the link back to it. */
  readonly filter: FleetFilter;
  /** False on a page that was written as one file. */
  readonly isServed: boolean;
}

/** What the page of one installation or cluster needs. */
export interface DetailProps extends PageProps {
  /** True for a bundle: there is no cluster to connect to. */
  readonly isRecorded: boolean;
  /** Grows when the fleet changes. */
  readonly revision: number;
}

/** What the page of the fleet needs. */
export interface FleetProps extends PageProps {
  /** When the hub was read last, where it cannot be read now; null: it can. */
  readonly lostSince: string | null;
  readonly onFilter: SetFilter;
}

/** The page of the fleet. */
export function FleetPage(props: FleetProps): Markup {
  const { status, now, kubectl, knfleet, filter, onFilter, isServed, lostSince } = props;
  const clusters = useClusters(needsTraits(filter), now);
  const traits = useMemo(() => traitsOf(clusters.document), [clusters.document]);
  const view = useMemo(() => fleetView(status, filter, traits), [status, filter, traits]);
  const search = (text: string): void => {
    onFilter({ text, state: null });
    document.querySelector("#filter")?.scrollIntoView({ block: "start" });
  };
  const said = verdictOf(view, status.controller);
  const { tone, text } = lostSince === null ? said : outdated(said, shownAge(lostSince, now));
  return html`<div class="title">
      <h1 tabindex="-1">Knative fleet</h1>
      <p class=${`verdict ${tone}`}>${text}</p>
    </div>
    <${Counts} view=${view} filter=${filter} onFilter=${onFilter} />
    <${Sets} status=${status} />
    <${Wrong} sets=${status.sets} causes=${view.causes} knfleet=${knfleet} search=${search} />
    ${view.total === 0 ? html`<${FirstSteps} kubectl=${kubectl} knfleet=${knfleet} now=${now} />` : null}
    <div class="beside">
      <${Section} title="Installations">
        <${Search} view=${view} filter=${filter} onFilter=${onFilter} />
        ${needsTraits(filter) ? html`<${Waiting} reading=${clusters} />` : null}
        <${Rows} rows=${view.rows} filter=${filter} now=${now} />
        ${view.rows.length === 0 && view.total > 0 ? html`<${NoRows} onFilter=${onFilter} />` : null}
      <//>
      <div>
        <${Versions} versions=${view.versions} search=${search} />
        ${isServed ? html`<${Ends} />` : null}
      </div>
    </div>`;
}

interface CountsProps {
  readonly view: FleetView;
  readonly filter: FleetFilter;
  readonly onFilter: SetFilter;
}

function Counts({ view: { counts, total }, filter, onFilter }: CountsProps): Markup {
  const toggle = (state: FleetFilter["state"]): void =>
    onFilter({ ...filter, state: filter.state === state ? null : state });
  return html`<div class="counts" role="group" aria-label="Installations by state">
    <button type="button" aria-pressed=${filter.state === null} onClick=${() => toggle(null)}>
      <b>${total}</b> Installations
    </button>
    ${pageStates.map(
      ({ name, title }) =>
        html`<button
          type="button"
          class=${counts[name] === 0 ? "none" : name}
          aria-pressed=${filter.state === name}
          onClick=${() => toggle(name)}
        >
          <b>${counts[name]}</b> ${title}
        </button>`,
    )}
  </div>`;
}

/** A line of fleet sets. */
function Sets({ status: { sets } }: Pick<PageProps, "status">): Markup {
  if (sets === null || sets.length === 0) return null;
  return html`<ul class="sets" aria-label="Fleet sets">
    ${setRows(sets).map((row) => html`<${SetEntry} key=${keyOf(row.set)} ...${row} />`)}
  </ul>`;
}

function SetEntry({ set, tone, parts }: SetRow): Markup {
  const { namespace, version, phase, done, selected } = set;
  return html`<li>
    <a href=${`#/set/${keyOf(set)}`}><${Prose} text=${shortNameOf(set)} /></a>
    <span class="dim"><${Prose} text=${[namespace, version].filter(Boolean).join(" · ")} /></span>
    <${Badge} tone=${tone} text=${phase ?? "No status yet"} />
    <${Bar} parts=${parts} />
    <span class="number">${`${done}/${selected} done`}</span>
  </li>`;
}

interface VersionsProps {
  readonly versions: readonly VersionView[];
  readonly search: (text: string) => void;
}

function Versions({ versions, search }: VersionsProps): Markup {
  if (versions.length === 0) return null;
  return html`<${Section} title="Versions">
    <ul class="bars">
      ${versions.map(
        ({ version, count, share }) =>
          html`<li key=${version}>
            <button type="button" class="link" onClick=${() => search(`version:${version}`)}>
              ${version}
            </button>
            <span class="track"
              ><span class="bar" style=${{ width: `${share * 100}%` }}></span
            ></span>
            <span class="number">${count}</span>
          </li>`,
      )}
    </ul>
  <//>`;
}

function Search({ view, filter, onFilter }: CountsProps): Markup {
  const onInput = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }): void =>
    onFilter({ ...filter, text: currentTarget.value }, true);
  return html`<div class="search">
    <label for="filter">Filter</label>
    <input
      id="filter"
      type="search"
      placeholder="reason:… version:… label:env=prod"
      autocomplete="off"
      spellcheck=${false}
      value=${filter.text}
      onInput=${onInput}
    />
    <span class="dim" role="status">${view.rows.length} of ${view.total}</span>
  </div>`;
}

function NoRows({ onFilter }: Pick<FleetProps, "onFilter">): Markup {
  return html`<p>
    No installation matches the filter.${" "}
    <button type="button" onClick=${() => onFilter({ text: "", state: null })}>
      Show all installations
    </button>
  </p>`;
}

const firstRows = 200;

interface RowsProps {
  readonly rows: readonly FleetRow[];
  readonly filter: FleetFilter;
  readonly now: Date;
}

/** Rows keep their places while the page is open; a new order is offered. Of many rows the first are shown, which is enough to read and quick to filter. */
function Rows({ rows, filter, now }: RowsProps): Markup {
  const [whole, setWhole] = useState<FleetFilter | null>(null);
  const order = useRef<readonly string[]>([]);
  const [, sortAnew] = useState(0);
  const kept = inShownOrder(rows, order.current);
  if (kept.length > order.current.length) order.current = kept.map(({ key }) => key);
  const isOther = kept.some(({ key }, at) => key !== rows[at]?.key);
  const limit = whole === filter ? kept.length : firstRows;
  const sort = (): void => {
    order.current = [];
    sortAnew((count) => count + 1);
  };
  // The button lies beside the filter, so that it moves no row.
  return html`<div class="rows">
    ${
      isOther
        ? html`<button type="button" class="reorder" onClick=${sort}>
            The order has changed: sort anew
          </button>`
        : null
    }
    <${RowTable}>
      ${kept.slice(0, limit).map((row) => html`<${Row} key=${row.key} row=${row} now=${now} />`)}
    <//>
    ${
      kept.length > limit
        ? html`<p>
            <button type="button" onClick=${() => setWhole(filter)}>Show all ${kept.length}</button>
          </p>`
        : null
    }
  </div>`;
}

const headers = [
  "Installation",
  "Cluster",
  "Version",
  "Hub says",
  "Cluster says",
  "Reason",
  "Since",
];

/** The table that holds rows. */
export function RowTable({ children }: { readonly children?: unknown }): Markup {
  return html`<table class="fleet">
    <thead>
      <tr>
        ${headers.map((header) => html`<th scope="col">${header}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${children}
    </tbody>
  </table>`;
}

/** One installation. */
export function Row({ row, now }: { readonly row: FleetRow; readonly now: Date }): Markup {
  const { item, state, title, cluster, version } = row;
  return html`<tr class=${state}>
    <th scope="row">
      <a class="word" href=${`#/installation/${row.key}`}>${title}</a>${" "}
      <span class="word dim">${item.namespace}</span>
    </th>
    <td data-label="Cluster">
      ${
        item.cluster === null
          ? cluster
          : html`<a class="word" href=${`#/cluster/${clusterKey(item.cluster)}`}>${cluster}</a>`
      }
    </td>
    <td data-label="Version">${version}</td>
    <td data-label="Hub says">${row.hub}</td>
    <td data-label="Cluster says">${row.live}</td>
    <td data-label="Reason">
      ${item.reason === null ? null : html`<${Badge} tone=${state} text=${item.reason} />`}
    </td>
    <td data-label="Since" class="number">
      ${item.since === null ? "" : shownAge(item.since, now)}
    </td>
  </tr>`;
}
