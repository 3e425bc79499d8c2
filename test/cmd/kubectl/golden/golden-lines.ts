import type { SceneName } from "./scenes.ts";

/** A command on recorded fleets: every format, in a pipe and in terminals of 80 and 120 columns. */
export interface GoldenLine {
  /** The command line without what selects the installations of a scene. */
  readonly args: readonly string[];
  /** Fields that every item of the command's documents has, for the formats with a template. */
  readonly fields: readonly [string, string];
  /** False: the items have no names, and `-o name` is refused. Default true. */
  readonly named?: boolean;
  /** Formats of this command alone. */
  readonly formats?: readonly string[];
  /** Where it is recorded. Default: all but `whole`. */
  readonly scenes?: readonly SceneName[];
}

/** A command that needs no cluster, or a live one: the test file that holds what it prints, and why it is not here. */
interface Elsewhere {
  readonly file: string;
  readonly why: string;
  /** It reads bundles, and that file shows how. */
  readonly readsBundles?: true;
}

/** What is held for each command of the table. A command that reads bundles (`readsBundles`) joins with one line. */
export const goldenLines: Readonly<Record<string, GoldenLine | Elsewhere>> = {
  status: { args: ["status"], fields: [".name", ".live.state"], formats: ["html"] },
  deployments: { args: ["deployments"], fields: [".name", ".cluster.name"] },
  get: { args: ["get", "deployments"], fields: [".object.metadata.name", ".cluster"] },
  diagnose: { args: ["diagnose"], fields: [".target.name", ".rootCause.code"] },
  events: { args: ["events"], fields: [".reason", ".cluster"], named: false },
  gather: { args: ["gather", "--dry-run"], fields: [".folder", ".cluster"] },
  tree: {
    args: ["tree"],
    fields: [".kind", ".state"],
    named: false,
    formats: ["dot", "mermaid"],
  },
  orphans: { args: ["orphans"], fields: [".finding", ".object.name"], scenes: ["whole"] },
  check: {
    args: ["check"],
    fields: [".check", ".state"],
    named: false,
    formats: ["short", "junit"],
    scenes: ["whole"],
  },
  logs: { args: ["logs"], fields: [".pod", ".line"], named: false, scenes: ["whole"] },
  version: { args: ["version"], fields: [".name", ".kubernetes"] },
  top: { file: "top/top.test.ts", why: "shows a screen", readsBundles: true },
  "can-i": { file: "can-i/can-i.test.ts", why: "asks the spokes what it may" },
  diff: { file: "diff/diff.test.ts", why: "renders releases", readsBundles: true },
  plan: { file: "plan/plan.test.ts", why: "asks API servers for dry runs" },
  connect: { file: "connect/shell-start.test.ts", why: "starts programs" },
  kubeconfig: { file: "kubeconfig/kubeconfig-file.test.ts", why: "writes a file" },
  credential: { file: "credential/exec-request.test.ts", why: "answers kubectl" },
  wait: { file: "recorded.test.ts", why: "waits for what changes" },
  explain: { file: "recorded.test.ts", why: "asks no cluster" },
  render: { file: "render.test.ts", why: "asks no cluster" },
  completion: { file: "completion/completion.test.ts", why: "prints scripts for shells" },
};
