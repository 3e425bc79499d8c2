import type { SceneName } from "./scenes.ts";

/** A command on recorded fleets: every format, in a pipe and in terminals of 80 and 120 columns. */
export interface GoldenLine {
  /** The command line without what selects the installations of a scene. */
  readonly args: readonly string[];
  /** Fields that every item of the command's documents has, for the formats with a template. */
  readonly fields: readonly [string, string];
  /** False: the items have no names, and `-o name` is refused. Default true. */
  readonly named?: boolean;
}

/** A command that needs no cluster, or a live one: the test file that holds what it prints, and why it is not here. */
interface Elsewhere {
  readonly file: string;
  readonly why: string;
}

/** What is held for each command of the table. A command that reads bundles (`readsBundles`) joins with one line. */
export const goldenLines: Readonly<Record<string, GoldenLine | Elsewhere>> = {
  status: { args: ["status"], fields: [".name", ".live.state"] },
  deployments: { args: ["deployments"], fields: [".name", ".cluster.name"] },
  get: { args: ["get", "deployments"], fields: [".object.metadata.name", ".cluster"] },
  diagnose: { args: ["diagnose"], fields: [".target.name", ".rootCause.code"] },
  events: { args: ["events"], fields: [".reason", ".cluster"], named: false },
  gather: { args: ["gather", "--dry-run"], fields: [".folder", ".cluster"] },
  tree: { args: ["tree"], fields: [".kind", ".state"], named: false },
  "can-i": { file: "can-i/can-i.test.ts", why: "asks the spokes what it may" },
  diff: { file: "diff/diff.test.ts", why: "renders releases, and reads every object of them" },
  plan: { file: "plan/plan.test.ts", why: "asks API servers for dry runs" },
  check: { file: "check/check.test.ts", why: "asks API servers what they allow" },
  orphans: { file: "orphans/orphans.test.ts", why: "looks for what no component names" },
  logs: { file: "logs/logs.test.ts", why: "does not read bundles" },
  connect: { file: "connect/shell-start.test.ts", why: "starts programs" },
  kubeconfig: { file: "kubeconfig/kubeconfig-file.test.ts", why: "writes a file" },
  credential: { file: "credential/exec-request.test.ts", why: "answers kubectl" },
  wait: { file: "recorded.test.ts", why: "waits for what changes" },
  explain: { file: "recorded.test.ts", why: "asks no cluster" },
  render: { file: "render.test.ts", why: "asks no cluster" },
  completion: { file: "completion/completion.test.ts", why: "prints scripts for shells" },
  version: { file: "print/golden.test.ts", why: "prints the version of Node, too" },
};

/** Where a command is recorded, unless said otherwise. */
export const sceneNames: readonly SceneName[] = ["fine", "broken", "upstream"];
