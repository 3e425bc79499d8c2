import { plainText } from "../../../../api/foreign-text.ts";
import type { Tone } from "../../output/table.ts";

/** `UNKNOWN`: the object could not be read. */
type NodeState = "OK" | "WARN" | "FAIL" | "UNKNOWN";

/** One node on the way from a component on the hub to its pods. */
export interface TreeNode {
  /** Kind of Kubernetes, or `Provider` or `Cluster`. */
  readonly kind: string;
  /** Null where the kind has none. */
  readonly namespace: string | null;
  readonly name: string;
  /** `namespace/name` of the ClusterProfile of the cluster that it is on; null for the hub. */
  readonly cluster: string | null;
  readonly state: NodeState;
  /** State in words; may quote foreign text. */
  readonly message: string | null;
  readonly children: readonly TreeNode[];
}

/** Whether a node and all below it are well. */
function isWell({ state, children }: TreeNode): boolean {
  return state === "OK" && children.every(isWell);
}

/** A node and all below it. */
export function flattened(node: TreeNode): readonly TreeNode[] {
  return [node, ...node.children.flatMap(flattened)];
}

const collapsing = ["Deployment", "Pod"];

/** The tree with healthy Deployments, and healthy pods, of one parent joined into one node. */
export function collapsed(node: TreeNode): TreeNode {
  const children = node.children.map(collapsed);
  const crowds = collapsing
    .map((kind) => children.filter((child) => child.kind === kind && isWell(child)))
    .filter((crowd) => crowd.length > 1);
  const hidden = new Set(crowds.flat());
  const shown = children.filter((child) => !hidden.has(child));
  return { ...node, children: [...shown, ...crowds.map(crowdOf)] };
}

function crowdOf(crowd: readonly TreeNode[]): TreeNode {
  const [first] = crowd;
  if (first === undefined) throw new Error("A crowd has members");
  const name = `${crowd.length} ${first.kind}s`;
  const message = first.kind === "Pod" ? "all running" : "all available";
  return { ...first, name, message, children: [] };
}

interface TreeTextOptions {
  readonly paint: (text: string, tone: Tone) => string;
  /** Columns of a terminal, in which messages are cut; undefined: nothing is cut. */
  readonly width: number | undefined;
}

interface Line {
  readonly what: string;
  readonly state: NodeState;
  readonly message: string;
}

const gap = "   ";

/** Trees as lines: name, state, message. */
export function treeText(trees: readonly TreeNode[], { paint, width }: TreeTextOptions): string {
  const lines = trees.map((tree) => linesOf(tree));
  const whatWidth = widest(lines.flat().map(({ what }) => what));
  const stateWidth = widest(lines.flat().map(({ state }) => state));
  const before = whatWidth + stateWidth + 2 * gap.length;
  const room = width === undefined ? Infinity : Math.max(12, width - before);
  const textOf = ({ what, state, message }: Line): string => {
    const padding = message === "" ? "" : " ".repeat(stateWidth - state.length);
    const said = message.length > room ? `${message.slice(0, room - 1)}…` : message;
    const shown = `${paint(state, tones[state])}${padding}`;
    return `${[what.padEnd(whatWidth), shown, ...(said === "" ? [] : [said])].join(gap)}\n`;
  };
  return lines.map((tree) => tree.map(textOf).join("")).join("\n");
}

const tones = { OK: "good", WARN: "warning", FAIL: "bad", UNKNOWN: "warning" } as const;

function linesOf(node: TreeNode, prefix = "", below = ""): readonly Line[] {
  const { state, message, children } = node;
  const line = { what: `${prefix}${titleOf(node)}`, state, message: plainText(message ?? "") };
  const rest = children.flatMap((child, at) => {
    const isLast = at === children.length - 1;
    return linesOf(child, `${below}${isLast ? "└─ " : "├─ "}`, `${below}${isLast ? "   " : "│  "}`);
  });
  return [line, ...rest];
}

const named = [
  "KnativeServingSet",
  "KnativeEventingSet",
  "KnativeServing",
  "KnativeEventing",
  "ClusterProfile",
  "Secret",
];

/** `Kind namespace/name`; only `Kind name` below a node of the same Namespace. */
function titleOf({ kind, namespace, name }: TreeNode): string {
  if (/^\d+ /.test(name)) return plainText(name);
  const place = named.includes(kind) && namespace !== null ? `${namespace}/` : "";
  return plainText(`${kind} ${place}${name}`);
}

function widest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map(({ length }) => length));
}

interface Graph {
  readonly nodes: readonly (readonly [id: string, node: TreeNode])[];
  readonly edges: readonly (readonly [from: string, to: string])[];
}

/** Trees as one graph; a node that two trees share is there once. */
function graphOf(trees: readonly TreeNode[]): Graph {
  const ids = new Map<string, string>();
  const nodes = new Map<string, TreeNode>();
  const edges = new Map<string, readonly [string, string]>();
  const visit = (node: TreeNode, parent: string): string => {
    const { kind, namespace, name, cluster, children } = node;
    // A joined node belongs to its parent, and a provider to its ClusterProfile; neither is shared.
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
