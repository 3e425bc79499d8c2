import { UsageError } from "../../usage-error.ts";
import { diagnose } from "./diagnose.ts";
import type { Diagnosis, Vantage } from "./diagnosis.ts";
import type { Elsewhere } from "./elsewhere.ts";
import { findControllers, type ControllerDeployment } from "./find-controller.ts";
import { compared } from "./hops/differences.ts";
import { openVantage, type OpenVantage } from "./open-vantage.ts";

/** Walks as the controller's identity, or by a Job on the hub, and compares. Throws UsageError when there is no controller to take it from. */
export async function walkElsewhere(
  vantage: Exclude<Vantage, "local">,
  elsewhere: Elsewhere,
  signal: AbortSignal,
): Promise<readonly Diagnosis[]> {
  const controller = await controllerOf(elsewhere.here, signal);
  if (vantage === "controller") {
    const { walkByJob } = await import("./walk-by-job.ts");
    return comparedAll(await walkByJob(controller, elsewhere, signal), elsewhere.local);
  }
  const { input, options, contextOf } = elsewhere;
  const { namespace, serviceAccount } = controller;
  await using there = await openVantage(input.flags, {
    env: input.terminal.env,
    actAs: `system:serviceaccount:${namespace}:${serviceAccount}`,
    pluginNamespace: namespace,
  });
  // The controller has its file mounted and need not be able to read it on the hub.
  const context = { ...contextOf(input, there), fileHub: elsewhere.here.hub };
  const walks = await diagnose({ ...options, vantage }, context, signal);
  return comparedAll(walks, elsewhere.local);
}

function comparedAll(
  walks: readonly Diagnosis[],
  local: readonly Diagnosis[],
): readonly Diagnosis[] {
  return walks.map((walk, at) => {
    const own = local[at];
    return own === undefined ? walk : compared(walk, own);
  });
}

async function controllerOf(
  { hub }: OpenVantage,
  signal: AbortSignal,
): Promise<ControllerDeployment> {
  const { deployments = [] } = await findControllers(hub, signal);
  const found = deployments.find(({ flavour }) => flavour === "knfleet") ?? deployments[0];
  if (found !== undefined) return found;
  throw new UsageError(
    "There is no Deployment of a controller on the hub whose place could be taken",
    ["kubectl knfleet diagnose --from local"],
  );
}
