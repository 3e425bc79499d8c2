import type { TreeNode } from "../fleet/tree/tree-node.ts";

/** A box of the graph, in pixels from the upper left corner. */
export interface GraphNode {
  readonly x: number;
  readonly y: number;
  readonly kind: string;
  readonly name: string;
  readonly state: TreeNode["state"];
  readonly message: string | null;
}

/** A line from the lower left of a box to the left side of one that belongs to it. */
export interface GraphEdge {
  readonly from: GraphNode;
  readonly to: GraphNode;
}

/** A drawing. */
export interface GraphView {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** The size of a box, and how far the next one is to the right and below. */
export const box = { width: 320, height: 44, right: 24, below: 54 } as const;

const margin = 2;

/** Draws trees from top to bottom, each object below and to the right of the one that it belongs to: so it fits a phone, too. */
export function graphView(trees: readonly TreeNode[]): GraphView {
  const nodes: GraphNode[] = [];
  const edges: GraphEdge[] = [];
  const place = (tree: TreeNode, depth: number): GraphNode => {
    const { kind, name, state, message } = tree;
    const x = depth * box.right + margin;
    const node = { x, y: nodes.length * box.below + margin, kind, name, state, message };
    nodes.push(node);
    for (const child of tree.children) edges.push({ from: node, to: place(child, depth + 1) });
    return node;
  };
  for (const tree of trees) place(tree, 0);
  const right = nodes.reduce((width, { x }) => Math.max(width, x + box.width), 0);
  const height = nodes.length === 0 ? 0 : (nodes.length - 1) * box.below + box.height + margin;
  return { width: right + margin, height: height + margin, nodes, edges };
}

/** The beginning of a text that fits into a box. */
export function shortened(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}
