import { plainText } from "../../output/plain-text.ts";
import type { Tone } from "../../output/table.ts";
import type { NodeState, TreeNode } from "./tree-node.ts";

export interface TreeTextOptions {
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

/** Trees as lines: what it is, its state, what is the case. */
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

const named = ["KnativeServing", "KnativeEventing", "ClusterProfile", "Secret"];

/** `Kind namespace/name`; of what has its Namespace above it the name alone. */
export function titleOf({ kind, namespace, name }: TreeNode): string {
  if (/^\d+ /.test(name)) return plainText(name);
  const place = named.includes(kind) && namespace !== null ? `${namespace}/` : "";
  return plainText(`${kind} ${place}${name}`);
}

function widest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map(({ length }) => length));
}
