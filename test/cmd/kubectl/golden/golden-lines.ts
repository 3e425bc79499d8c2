import type { SceneName } from "./scenes.ts";

/** What the documents of a command are like. */
export interface Formats {
  /** Fields that every item of the command's documents has, for the formats with a template. */
  readonly fields: readonly [string, string];
  /** False: the items have no names, and `-o name` is refused. Default true. */
  readonly named?: boolean;
  /** Formats of this command alone. */
  readonly formats?: readonly string[];
}

/** A command on recorded fleets: every format, in a pipe and in terminals of 80 and 120 columns. */
export interface GoldenLine extends Formats {
  /** The command line without what selects the installations of a scene. */
  readonly args: readonly string[];
  /** Where it is recorded. Default: all but `whole`. */
  readonly scenes?: readonly SceneName[];
}

/** A command on a hub that answers (served-scene.ts), as it is typed; the first line also in every format, where it prints reports. */
export interface ServedLine {
  readonly served: readonly (readonly string[])[];
  readonly report?: Formats;
  /** True: a terminal makes no difference. */
  readonly isText?: true;
}

/** A command that is held elsewhere: the test file that holds what it prints, and why it is not here. */
interface Elsewhere {
  readonly file: string;
  readonly why: string;
  /** It reads bundles, and that file shows how. */
  readonly readsBundles?: true;
}

const toCluster = ["fleet/eu-1", "--clusterprofile-provider-file", "PROVIDERS"];

/** What is held for each command of the table. A command that reads bundles (`readsBundles`) joins with one line. */
export const goldenLines: Readonly<Record<string, GoldenLine | ServedLine | Elsewhere>> = {
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
  top: { file: "commands/top/top.test.ts", why: "shows a screen", readsBundles: true },
  "can-i": {
    served: [["can-i", "--release-dir", "RELEASES"]],
    report: { fields: [".user", ".installations[0].name"], named: false, formats: ["clusterrole"] },
  },
  diff: {
    served: [["diff", "ke", "--release-dir", "RELEASES"]],
    report: { fields: [".object.name", ".change"] },
  },
  plan: {
    served: [["plan", "-f", "FILE", "--release-dir", "RELEASES"]],
    report: { fields: [".installation.name", ".hub.action"] },
  },
  wait: {
    served: [["wait", "ke", "--for=ready"]],
    report: { fields: [".name", ".state"] },
  },
  images: {
    served: [
      ["images", "-A", "--release-dir", "RELEASES"],
      ["images", "-f", "FILE", "--release-dir", "RELEASES"],
    ],
    report: { fields: [".image", ".neededBy[0].name"] },
  },
  workloads: {
    served: [["workloads", "-A"]],
    report: { fields: [".name", ".ready"], named: false },
  },
  explain: {
    served: [["explain", "ApplyFailed", "KNF1005"]],
    report: { fields: [".name", ".code"] },
  },
  render: {
    served: ["yaml", "json"].map((format) => [
      "render",
      "-f",
      "FILE",
      "--release-dir",
      "RELEASES",
      "-o",
      format,
    ]),
    isText: true,
  },
  kubeconfig: { served: [["kubeconfig", ...toCluster]], isText: true },
  credential: { served: [["credential", ...toCluster]] },
  completion: {
    served: [["completion", "kubectl"]],
    isText: true,
  },
  "rollout status": {
    file: "commands/rollout/rollout-status.test.ts",
    why: "recorded fleets have no sets",
    readsBundles: true,
  },
  "rollout approve": { file: "commands/rollout/steering.test.ts", why: "prints a sentence" },
  "rollout pause": { file: "commands/rollout/steering.test.ts", why: "prints a sentence" },
  "rollout resume": { file: "commands/rollout/steering.test.ts", why: "prints a sentence" },
  "rollout retry": { file: "commands/rollout/steering.test.ts", why: "prints a sentence" },
  "rollout skip": { file: "commands/rollout/steer.test.ts", why: "prints a sentence" },
  "rollout abort": { file: "commands/rollout/steer.test.ts", why: "prints a sentence" },
  "rollout accept-selection": {
    file: "commands/rollout/steering.test.ts",
    why: "prints a sentence",
  },
  "rollout history": {
    file: "commands/rollout/history.test.ts",
    why: "recorded fleets have no sets",
    readsBundles: true,
  },
  "rollout undo": { file: "commands/rollout/history.test.ts", why: "prints the set" },
  "rollout plan": {
    file: "commands/rollout/plan.test.ts",
    why: "recorded fleets have no sets",
  },
  "rollout verify": {
    file: "cli-rollout-verify.test.ts",
    why: "recorded fleets have no sets",
  },
  "rollout adopt": { file: "commands/rollout/adopt.test.ts", why: "prints a set" },
  register: { file: "commands/register/register.fleet.test.ts", why: "writes to two clusters" },
  unregister: { file: "commands/register/register.fleet.test.ts", why: "deletes on two clusters" },
  ui: { file: "commands/ui/ui.test.ts", why: "serves a page", readsBundles: true },
  "migrate from-upstream": {
    served: [["migrate", "from-upstream"]],
    report: { fields: [".id", ".state"] },
  },
  "migrate to-upstream": { served: [["migrate", "to-upstream"]] },
  mcp: { file: "commands/mcp/mcp.test.ts", why: "speaks a protocol", readsBundles: true },
  connect: {
    file: "commands/connect/connect-shell-start.test.ts",
    why: "starts programs, which print",
  },
};
