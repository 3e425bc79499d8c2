import type { ActionInput } from "../../action.ts";
import type { DiagnoseFlags } from "./diagnose-flags.ts";
import type { OpenVantage } from "./open-vantage.ts";
import { findTargets, targetsInFile, type FoundTargets } from "./targets.ts";

/** What the arguments, or the file of `--filename`, name. */
export async function askedTargets(
  { args, flags, options, terminal }: ActionInput<DiagnoseFlags>,
  { hub, namespace }: Pick<OpenVantage, "hub" | "namespace">,
  signal: AbortSignal,
): Promise<FoundTargets> {
  if (options.filename === undefined) return findTargets(args, { hub, namespace, flags }, signal);
  const { askedSelection } = await import("../../selection/selection-file.ts");
  const selection = await askedSelection({ args, flags, options, terminal }, { namespace }, signal);
  return targetsInFile(selection, { hub, flags }, signal);
}
