import type { CommandEntry } from "./command-entry.ts";
import { diffEntry, planEntry, renderEntry } from "./commands/change-entries.ts";
import {
  canIEntry,
  checkEntry,
  diagnoseEntry,
  explainEntry,
  gatherEntry,
  orphansEntry,
} from "./commands/diagnosis-entries.ts";
import {
  deploymentsEntry,
  statusEntry,
  topEntry,
  treeEntry,
  waitEntry,
  eventsEntry,
  getEntry,
  logsEntry,
} from "./commands/fleet-entries.ts";
import {
  connectEntry,
  credentialEntry,
  kubeconfigEntry,
  completionEntry,
  versionEntry,
} from "./commands/workstation-entries.ts";

/** Every command: help, docs/cli.md and completion are made of this table. Actions are loaded only when chosen. */
export const commandTable = (): readonly CommandEntry[] => [
  statusEntry(),
  topEntry(),
  deploymentsEntry(),
  getEntry(),
  diagnoseEntry(),
  diffEntry(),
  planEntry(),
  orphansEntry(),
  checkEntry(),
  waitEntry(),
  eventsEntry(),
  logsEntry(),
  treeEntry(),
  gatherEntry(),
  explainEntry(),
  canIEntry(),
  connectEntry(),
  kubeconfigEntry(),
  credentialEntry(),
  renderEntry(),
  completionEntry(),
  versionEntry(),
];
