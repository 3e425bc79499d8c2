import type { FilenameFlag } from "../../selection/filename-option.ts";

/** Flags of `diagnose` alone. */
export interface DiagnoseFlags extends FilenameFlag {
  readonly from?: string;
  readonly exec?: boolean;
  readonly execTimeout?: string;
  readonly releaseDir?: string;
  readonly failOn?: string;
  readonly yes?: boolean;
  readonly reportFile?: string;
}
