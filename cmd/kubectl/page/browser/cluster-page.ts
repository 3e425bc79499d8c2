import { clusterView } from "../cluster-view.ts";
import { Diagnose } from "./diagnosis.ts";
import { type PageProps, Row, RowTable } from "./fleet-page.ts";
import { html, type Markup } from "./html.ts";
import { Command, Section } from "./parts.ts";

interface ClusterProps extends PageProps {
  readonly clusterKey: string;
  /** False on a page that was written as one file. */
  readonly isServed: boolean;
  readonly isRecorded: boolean;
}

/** The page of one cluster. */
export function ClusterPage(props: ClusterProps): Markup {
  const { status, now, knfleet, clusterKey, isServed, isRecorded } = props;
  const view = clusterView(status.items, clusterKey, { knfleet, isRecorded });
  if (view === undefined) {
    return html`<h1 tabindex="-1">Not found</h1>
      <p>No installation is for such a cluster now.</p>
      <p><a href="#/">The whole fleet</a></p>`;
  }
  const { title, facts, rows, next } = view;
  return html`<p><a href="#/">Fleet</a></p>
    <h1 tabindex="-1">${title} <span class="dim">cluster</span></h1>
    <dl class="facts">
      ${facts.map(
        ([name, value]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
    </dl>
    <${Section} title="Installations">
      <${RowTable}> ${rows.map((row) => html`<${Row} key=${row.key} row=${row} now=${now} />`)} <//>
    <//>
    <${Section} title="Next"> ${next.map((command) => html`<${Command} ...${command} />`)} <//>
    ${isServed ? html`<${Diagnose} key=${title} targets=${title} />` : null}`;
}
