import type { ClusterItem } from "../../commands/ui/clusters.ts";
import { fleetAddress } from "../address.ts";
import { clusterView } from "../cluster-view.ts";
import { Diagnose } from "./diagnosis.ts";
import { type DetailProps, Row, RowTable } from "./fleet-page.ts";
import { html, type Markup } from "./html.ts";
import { Back, Command, Facts, NotFound, Section } from "./parts.ts";
import { traitsOf, useClusters } from "./reading.ts";

interface ClusterProps extends DetailProps {
  readonly clusterKey: string;
}

/** The page of one cluster. */
export function ClusterPage(props: ClusterProps): Markup {
  const { status, now, knfleet, clusterKey, filter, isServed, isRecorded } = props;
  const clusters = useClusters(true, now);
  const view = clusterView(status.items, clusterKey, { knfleet, isRecorded });
  if (view === undefined) {
    return html`<${NotFound} text="No installation is for such a cluster now." />`;
  }
  const { title, facts, rows, next } = view;
  const said = traitsOf(clusters.document).get(title);
  return html`<${Back} filter=${filter} />
    <h1 tabindex="-1">${title} <span class="dim">cluster</span></h1>
    <${Facts} facts=${facts} />
    ${said === undefined ? null : html`<${Traits} ...${said} />`}
    <${Section} title="Installations">
      <${RowTable}> ${rows.map((row) => html`<${Row} key=${row.key} row=${row} now=${now} />`)} <//>
    <//>
    <${Section} title="Next"> ${next.map((command) => html`<${Command} ...${command} />`)} <//>
    ${isServed && !isRecorded ? html`<${Diagnose} key=${title} targets=${title} />` : null}`;
}

/** Labels and properties, each of which leads to the installations on the clusters that have it. */
function Traits({ labels, properties }: ClusterItem): Markup {
  return html`<${Facts}
    facts=${[
      ["Labels", linksOf("label", labels)],
      ["Properties", linksOf("property", properties)],
    ]}
  />`;
}

function linksOf(field: string, pairs: Readonly<Record<string, string>>): unknown {
  const texts = Object.entries(pairs).map((pair) => pair.join("="));
  if (texts.length === 0) return null;
  return texts.map((text) => {
    const address = fleetAddress({ text: `${field}:${text}`, state: null });
    // A filter has no words with spaces.
    return /\s/.test(text)
      ? html`<span class="trait">${text}</span> `
      : html`<a class="trait" href=${address}>${text}</a> `;
  });
}
