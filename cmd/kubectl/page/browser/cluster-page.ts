import { fleetAddress } from "../address.ts";
import { clusterView } from "../cluster-view.ts";
import type { ClusterItem } from "../clusters.ts";
import { Diagnose } from "./diagnosis.ts";
import { type DetailProps, Row, RowTable } from "./fleet-page.ts";
import { html, type Markup } from "./html.ts";
import { Back, Commands, Facts, NotFound, Prose, Section } from "./parts.ts";
import { traitsOf, useClusters, Waiting } from "./reading.ts";

interface ClusterProps extends DetailProps {
  readonly clusterKey: string;
}

/** The page of one cluster. */
export function ClusterPage(props: ClusterProps): Markup {
  const { status, now, knfleet, clusterKey, filter, isServed, isRecorded } = props;
  const clusters = useClusters(true, now);
  const fleet = { items: status.items, clusters: clusters.document?.items ?? [] };
  const view = clusterView(clusterKey, fleet, { knfleet, isRecorded });
  if (view === undefined) {
    return clusters.document === undefined && clusters.error === undefined
      ? html`<${Waiting} reading=${clusters} />`
      : html`<${NotFound} text="The fleet has no such cluster now." />`;
  }
  const { title, facts, why, tone, rows, next } = view;
  const said = traitsOf(clusters.document).get(title);
  return html`<${Back} filter=${filter} />
    <h1 tabindex="-1"><${Prose} text=${title} /> <span class="dim">cluster</span></h1>
    ${
      why === null
        ? null
        : html`<div class=${`why-box ${tone}`}>
            <p><${Prose} text=${why} /></p>
          </div>`
    }
    <${Facts} facts=${facts} />
    ${said === undefined ? null : html`<${Traits} ...${said} />`}
    <${Section} title="Installations">
      ${
        rows.length === 0
          ? html`<p class="dim">Nothing is installed here.</p>`
          : html`<${RowTable}>
              ${rows.map((row) => html`<${Row} key=${row.key} row=${row} now=${now} />`)}
            <//>`
      }
    <//>
    <${Section} title="Next"> <${Commands} commands=${next} /> <//>
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
      ? html`<span class="trait"><${Prose} text=${text} /></span> `
      : html`<a class="trait" href=${address}><${Prose} text=${text} /></a> `;
  });
}
