import { clusterView } from "../cluster-view.ts";
import { Diagnose } from "./diagnosis.ts";
import { type DetailProps, Row, RowTable } from "./fleet-page.ts";
import { html, type Markup } from "./html.ts";
import { Command, Facts, NotFound, Section } from "./parts.ts";

interface ClusterProps extends DetailProps {
  readonly clusterKey: string;
}

/** The page of one cluster. */
export function ClusterPage(props: ClusterProps): Markup {
  const { status, now, knfleet, clusterKey, isServed, isRecorded } = props;
  const view = clusterView(status.items, clusterKey, { knfleet, isRecorded });
  if (view === undefined) {
    return html`<${NotFound} text="No installation is for such a cluster now." />`;
  }
  const { title, facts, rows, next } = view;
  return html`<p><a href="#/">Fleet</a></p>
    <h1 tabindex="-1">${title} <span class="dim">cluster</span></h1>
    <${Facts} facts=${facts} />
    <${Section} title="Installations">
      <${RowTable}> ${rows.map((row) => html`<${Row} key=${row.key} row=${row} now=${now} />`)} <//>
    <//>
    <${Section} title="Next"> ${next.map((command) => html`<${Command} ...${command} />`)} <//>
    ${isServed ? html`<${Diagnose} key=${title} targets=${title} />` : null}`;
}
