import type { CommandEntry, CommandGroup } from "./action.ts";
import { canI } from "./commands/can-i/command.ts";
import { check } from "./commands/check/command.ts";
import { completion } from "./commands/completion/command.ts";
import { connect } from "./commands/connect/command.ts";
import { credential } from "./commands/credential/command.ts";
import { deployments } from "./commands/deployments/command.ts";
import { diagnose } from "./commands/diagnose/command.ts";
import { diff } from "./commands/diff/command.ts";
import { events } from "./commands/events/command.ts";
import { explain } from "./commands/explain/command.ts";
import { gather } from "./commands/gather/command.ts";
import { get } from "./commands/get/command.ts";
import { images } from "./commands/images/command.ts";
import { kubeconfig } from "./commands/kubeconfig/command.ts";
import { logs } from "./commands/logs/command.ts";
import { mcp } from "./commands/mcp/command.ts";
import { fromUpstream, migrateGroup, toUpstream } from "./commands/migrate/command.ts";
import { orphans } from "./commands/orphans/command.ts";
import { plan } from "./commands/plan/command.ts";
import { register } from "./commands/register/command.ts";
import { unregister } from "./commands/register/unregister/command.ts";
import { render } from "./commands/render/command.ts";
import {
  rolloutGroup,
  rolloutHistory,
  rolloutPlan,
  rolloutStatus,
  rolloutVerify,
} from "./commands/rollout/command.ts";
import {
  rolloutAbort,
  rolloutAcceptSelection,
  rolloutAdopt,
  rolloutApprove,
  rolloutPause,
  rolloutResume,
  rolloutRetry,
  rolloutSkip,
  rolloutUndo,
} from "./commands/rollout/steer-commands.ts";
import { status } from "./commands/status/command.ts";
import { top } from "./commands/top/command.ts";
import { tree } from "./commands/tree/command.ts";
import { ui } from "./commands/ui/command.ts";
import { version } from "./commands/version/command.ts";
import { wait } from "./commands/wait/command.ts";
import { workloads } from "./commands/workloads/command.ts";

/** All commands, for help, docs/cli and completion. The code of an action is loaded when it is chosen. */
export const commandTable = (): readonly CommandEntry[] => [
  status,
  top(commandTable),
  ui(commandTable),
  deployments,
  get,
  diagnose,
  diff,
  plan,
  orphans,
  check,
  wait,
  rolloutStatus,
  rolloutHistory,
  rolloutPlan,
  rolloutVerify,
  rolloutApprove,
  rolloutPause,
  rolloutResume,
  rolloutRetry,
  rolloutSkip,
  rolloutAbort,
  rolloutUndo,
  rolloutAcceptSelection,
  rolloutAdopt,
  events,
  logs,
  tree,
  gather,
  explain,
  canI,
  register,
  unregister,
  fromUpstream,
  toUpstream,
  connect,
  kubeconfig,
  credential,
  render,
  images,
  workloads,
  mcp(commandTable),
  completion,
  version,
];

/** The first words of commands that have two. */
export const commandGroups = (): readonly CommandGroup[] => [rolloutGroup(), migrateGroup()];
