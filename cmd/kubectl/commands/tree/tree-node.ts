/** `UNKNOWN`: it could not be looked at. */
export type NodeState = "OK" | "WARN" | "FAIL" | "UNKNOWN";

/** One thing on the way from a component on the hub to its pods. */
export interface TreeNode {
  /** Kind of Kubernetes, or `Provider` or `Cluster`. */
  readonly kind: string;
  /** Null where the kind has none. */
  readonly namespace: string | null;
  readonly name: string;
  /** `namespace/name` of the ClusterProfile of the cluster that it is on; null for the hub. */
  readonly cluster: string | null;
  readonly state: NodeState;
  /** What is the case; may quote foreign text. */
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

/** The tree with healthy Deployments, and healthy pods, that stand side by side as one node. */
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
