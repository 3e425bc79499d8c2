import type { ActionInput } from "../../action.ts";
import type { DiagnoseFlags } from "./diagnose-flags.ts";
import type { DiagnoseOptions } from "./diagnose.ts";
import type { Diagnosis } from "./diagnosis.ts";
import type { OpenVantage } from "./open-vantage.ts";
import type { WalkContext } from "./walk-context.ts";

/** A walk from this machine, and what it takes to walk the same way from elsewhere. */
export interface Elsewhere {
  readonly input: ActionInput<DiagnoseFlags>;
  readonly here: OpenVantage;
  readonly context: WalkContext;
  readonly local: readonly Diagnosis[];
  readonly options: Omit<DiagnoseOptions, "vantage">;
  readonly contextOf: (input: ActionInput<DiagnoseFlags>, vantage: OpenVantage) => WalkContext;
}
