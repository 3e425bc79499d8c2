import { plainText } from "../../output/plain-text.ts";
import type { NodeState, TreeNode } from "./tree-node.ts";
import { titleOf } from "./tree-text.ts";

interface Graph {
  readonly nodes: readonly (readonly [id: string, node: TreeNode])[];
  readonly edges: readonly (readonly [from: string, to: string])[];
}

/** Trees as one graph: what two of them have in common is there once. */
function graphOf(trees: readonly TreeNode[]): Graph {
  const ids = new Map<string, string>();
  const nodes = new Map<string, TreeNode>();
  const edges = new Map<string, readonly [string, string]>();
  const visit = (node: TreeNode, parent: string): string => {
    const { kind, namespace, name, cluster, children } = node;
    // A crowd is only the same below the same parent, and a provider is a step of its own for each profile.
    const place = /^\d+ /.test(name) || kind === "Provider" ? parent : "";
    const key = JSON.stringify([cluster, kind, namespace, name, place]);
    const id = ids.get(key) ?? `n${ids.size + 1}`;
    ids.set(key, id);
    nodes.set(id, node);
    for (const child of children) {
      const to = visit(child, id);
      edges.set(`${id} ${to}`, [id, to]);
    }
    return id;
  };
  for (const tree of trees) visit(tree, "");
  return { nodes: [...nodes], edges: [...edges.values()] };
}

const colours: Readonly<Record<NodeState, string>> = {
  OK: "green",
  WARN: "orange",
  FAIL: "red",
  UNKNOWN: "gray",
};

/** Trees in the language of Graphviz. */
export function dotOf(trees: readonly TreeNode[]): string {
  const { nodes, edges } = graphOf(trees);
  const lines = [
    "digraph knfleet {",
    "  rankdir=LR;",
    "  node [shape=box];",
    ...nodes.map(([id, node]) => {
      const label = [titleOf(node), node.state].map(quotable).join("\\n");
      return `  ${id} [label="${label}", color=${colours[node.state]}];`;
    }),
    ...edges.map(([from, to]) => `  ${from} -> ${to};`),
    "}",
  ];
  return lines.map((line) => `${line}\n`).join("");
}

function quotable(text: string): string {
  return plainText(text).replaceAll("\\", "\\\\").replaceAll('"', '\\"');
}

/** Trees in the language of Mermaid. */
export function mermaidOf(trees: readonly TreeNode[]): string {
  const { nodes, edges } = graphOf(trees);
  const states = Object.entries(colours);
  const lines = [
    "flowchart LR",
    ...nodes.map(([id, node]) => {
      const label = [titleOf(node), node.state].map(entities).join("<br/>");
      return `  ${id}["${label}"]:::${node.state.toLowerCase()}`;
    }),
    ...edges.map(([from, to]) => `  ${from} --> ${to}`),
    ...states.map(([state, colour]) => `  classDef ${state.toLowerCase()} stroke:${colour}`),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** Mermaid reads HTML and its own entities in labels. */
function entities(text: string): string {
  return plainText(text).replaceAll(/["#<>&;`]/g, (character) => `#${character.charCodeAt(0)};`);
}
