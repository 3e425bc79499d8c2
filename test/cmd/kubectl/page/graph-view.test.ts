import { expect, test } from "vitest";

import type { TreeNode } from "../../../../cmd/kubectl/fleet/tree/tree-node.ts";
import { box, graphView, shortened } from "../../../../cmd/kubectl/page/graph-view.ts";

function node(name: string, ...children: readonly TreeNode[]): TreeNode {
  return {
    kind: "Pod",
    namespace: null,
    name,
    cluster: null,
    state: "OK",
    message: null,
    children,
  };
}

test("no tree is an empty drawing", () => {
  expect(graphView([])).toMatchObject({ nodes: [], edges: [] });
});

test("each object has a row of its own, to the right of its parent", () => {
  const { nodes, edges, height, width } = graphView([
    node("a", node("b", node("c")), node("d")),
    node("e"),
  ]);
  const placed = nodes.map(({ name, x, y }) => [
    name,
    Math.floor(x / box.right),
    Math.floor(y / box.below),
  ]);
  expect(placed).toEqual([
    ["a", 0, 0],
    ["b", 1, 1],
    ["c", 2, 2],
    ["d", 1, 3],
    ["e", 0, 4],
  ]);
  expect(edges.map(({ from, to }) => `${from.name}${to.name}`).toSorted()).toEqual([
    "ab",
    "ad",
    "bc",
  ]);
  expect(height).toBe(4 * box.below + box.height + 4);
  expect(width).toBe(2 * box.right + box.width + 4);
});

test.each([
  ["short", 5, "short"],
  ["longer", 5, "long…"],
  ["", 5, ""],
])("%j in %i characters is %j", (text, max, shown) => {
  expect(shortened(text, max)).toBe(shown);
});
