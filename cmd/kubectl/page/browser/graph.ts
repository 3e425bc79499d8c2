import type { TreeNode } from "../../fleet/tree/tree-node.ts";
import { box, type GraphEdge, type GraphNode, graphView, shortened } from "../graph-view.ts";
import { html, type Markup } from "./html.ts";
import { Prose } from "./parts.ts";

const nameCharacters = 42;
const messageCharacters = 46;

/** The tree from the hub to the pods as a drawing. */
export function Graph({ trees }: { readonly trees: readonly TreeNode[] }): Markup {
  const { width, height, nodes, edges } = graphView(trees);
  const wrong = nodes.filter(({ state }) => state === "FAIL").length;
  const label = `${nodes.length} objects from the hub to the pods, ${wrong} of them failed`;
  return html`<div class="wide" tabindex="0" role="region" aria-label="Graph">
    <svg
      class="graph"
      width=${width}
      height=${height}
      viewBox=${`0 0 ${width} ${height}`}
      role="img"
      aria-label=${label}
    >
      ${edges.map((edge) => html`<path d=${lineOf(edge)} />`)}
      ${nodes.map((node) => html`<${Box} node=${node} />`)}
    </svg>
    ${nodes
      .filter(isCut)
      .map(
        ({ kind, name, message }) =>
          html`<p>${kind} <${Prose} text=${name} />: <${Prose} text=${message} /></p>`,
      )}
  </div>`;
}

function lineOf({ from, to }: GraphEdge): string {
  const x = from.x + box.right / 2;
  return `M${x} ${from.y + box.height}V${to.y + box.height / 2}H${to.x}`;
}

function belowOf({ kind, message }: GraphNode): string {
  return message === null ? kind : `${kind} · ${message}`;
}

/** What is wrong is written out below when its box is too small for it. */
function isCut(node: GraphNode): boolean {
  return node.state !== "OK" && belowOf(node).length > messageCharacters;
}

function Box({ node }: { readonly node: GraphNode }): Markup {
  const { x, y, kind, name, state, message } = node;
  const below = belowOf(node);
  return html`<g class=${state.toLowerCase()} transform=${`translate(${x} ${y})`}>
    <title>${`${kind} ${name}: ${state}${message === null ? "" : `, ${message}`}`}</title>
    <rect width=${box.width} height=${box.height} rx="6" />
    <rect class="mark" width="5" height=${box.height} rx="2" />
    <text x="14" y="18">${shortened(name, nameCharacters)}</text>
    <text x="14" y="35" class="small">${shortened(below, messageCharacters)}</text>
  </g>`;
}
