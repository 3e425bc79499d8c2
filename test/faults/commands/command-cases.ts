import { diagnoseCases } from "./cases/diagnose-cases.ts";
import { migrateCases } from "./cases/migrate-cases.ts";
import { registerCases } from "./cases/register-cases.ts";
import { rolloutCases } from "./cases/rollout-cases.ts";
import type { CommandCase } from "./command-case.ts";

/** Every command that writes to a cluster, in the order in which it is tried. */
export const commandCases: readonly CommandCase[] = [
  ...registerCases,
  ...rolloutCases,
  ...migrateCases,
  ...diagnoseCases,
];

/** The commands that write and are not tried here, with the reason. */
export const notTried: Readonly<Record<string, string>> = {
  kubeconfig: "writes a file of this machine and nothing to a cluster",
  gather: "writes a file of this machine and nothing to a cluster",
  "ui --once": "writes a file of this machine and nothing to a cluster",
  connect: "writes files of this machine and nothing to a cluster",
};
