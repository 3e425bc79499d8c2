/** Flags of `diagnose` alone. */
export interface DiagnoseFlags {
  readonly from?: string;
  readonly exec?: boolean;
  readonly execTimeout?: string;
  readonly failOn?: string;
  readonly yes?: boolean;
  readonly reportFile?: string;
}
