import { type ClusterRow, clusterRows } from "../cluster-view.ts";
import type { DetailProps } from "./fleet-page.ts";
import { html, type Markup } from "./html.ts";
import { Back, Badge, FirstOf, Prose, Table } from "./parts.ts";
import { useClusters, Waiting } from "./reading.ts";

const firstRows = 200;

/** All clusters, also those without installations. */
export function ClustersPage({ status, now, filter }: DetailProps): Markup {
  const clusters = useClusters(true, now);
  const rows = clusterRows({ items: status.items, clusters: clusters.document?.items ?? [] });
  return html`<${Back} filter=${filter} />
    <h1 tabindex="-1">Clusters <span class="dim">${rows.length}</span></h1>
    <${Waiting} reading=${clusters} />
    <${FirstOf}
      items=${rows}
      first=${firstRows}
      show=${(some: readonly ClusterRow[]) => html`<${ClusterTable} rows=${some} />`}
    />`;
}

const headers = ["Cluster", "State", "Installations", "Provider", "Kubernetes", "Server"];

function ClusterTable({ rows }: { readonly rows: readonly ClusterRow[] }): Markup {
  const cells = rows.map(({ key, title, state, provider, kubernetesVersion, server, items }) => [
    html`<a href=${`#/cluster/${key}`}><${Prose} text=${title} /></a>`,
    html`<${Badge} ...${state} />`,
    items.length === 0 ? "none" : String(items.length),
    provider ?? "",
    kubernetesVersion ?? "",
    server ?? "",
  ]);
  return html`<${Table} label="Clusters" headers=${headers} rows=${cells} />`;
}
