import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { ActionInput } from "../action.ts";
import { UsageError } from "../errors.ts";
import {
  type ControllerDeployment,
  listControllerDeployments,
  onlyController,
} from "../hub/find-controller.ts";
import { openHub } from "../hub/open-hub.ts";
import { words } from "../output/steps.ts";
import { diagnose, type DiagnoseOptions } from "./diagnose.ts";
import type { DiagnoseFlags, Diagnosis, Difference } from "./diagnosis.ts";
import { type Hop, hopTitles } from "./hops/hop.ts";
import { prepareWalk } from "./prepare-walk.ts";
import type { Vantage } from "./vantages.ts";
import { walkByJob } from "./walk-by-job.ts";
import type { WalkContext } from "./walk.ts";

/** The walks from this machine, and what the same walks from another place need. */
export interface Elsewhere {
  readonly input: ActionInput<DiagnoseFlags>;
  readonly context: WalkContext;
  readonly walks: Omit<DiagnoseOptions, "vantage">;
  readonly local: readonly Diagnosis[];
}

/**
 * Walks as the controller's identity, or by a Job on the hub, and compares with the walks from this machine. Throws UsageError when the hub has no
 * Deployment of a controller.
 */
export async function walkElsewhere(
  vantage: Exclude<Vantage, "local">,
  elsewhere: Elsewhere,
  signal: AbortSignal,
): Promise<readonly Diagnosis[]> {
  const { input, context, walks, local } = elsewhere;
  const controller = await findController(context.hub, input, signal);
  const diagnoses =
    vantage === "controller"
      ? await walkByJob(controller, { input, hub: context.hub, targets: walks.targets }, signal)
      : await walkAs(controller, { input, context, walks }, signal);
  return diagnoses.map((there, at) => {
    const here = local[at];
    return here === undefined ? there : compared(there, here);
  });
}

async function walkAs(
  { namespace, serviceAccount }: ControllerDeployment,
  { input, context, walks }: Omit<Elsewhere, "local">,
  signal: AbortSignal,
): Promise<readonly Diagnosis[]> {
  await using opened = new AsyncDisposableStack();
  const { client, source } = opened.use(
    await openHub(input.flags, {
      env: input.terminal.env,
      actAs: `system:serviceaccount:${namespace}:${serviceAccount}`,
    }),
  );
  const vantage = { hub: client, source, pluginNamespace: namespace, files: opened };
  const there = await prepareWalk(input, vantage);
  return await diagnose(
    { ...walks, vantage: "controller-identity" },
    // The controller has its file mounted and need not be able to read it on the hub.
    { ...there, fileHub: context.hub },
    signal,
  );
}

async function findController(
  hub: KubeClient,
  input: Elsewhere["input"],
  signal: AbortSignal,
): Promise<ControllerDeployment> {
  const controllers = await listControllerDeployments(hub, signal);
  const found = onlyController(controllers, "knfleet") ?? onlyController(controllers, "upstream");
  if (found !== undefined) return found;
  throw new UsageError(
    "There is no Deployment of a controller on the hub whose place could be taken",
    ["Walk from this machine:", fromHere(input)],
  );
}

/** The same command line from this machine. */
function fromHere({ args, flags, options }: Elsewhere["input"]): string {
  const { namespace, selector, cluster, on, reason, failed } = flags;
  const selecting: readonly (readonly [flag: string, value: string | null | undefined])[] = [
    ["-n", namespace],
    ["-l", selector],
    ["--cluster", cluster],
    ["--on", on],
    ["--reason", reason],
    ["-f", options.filename],
  ];
  return words(
    "kubectl",
    "knfleet",
    "diagnose",
    ...args,
    ...(namespace === undefined ? ["-A"] : []),
    ...selecting.flatMap(([flag, value]) => (typeof value === "string" ? [flag, value] : [])),
    ...(failed ? ["--failed"] : []),
  );
}

/** A walk from another vantage, with its differences from the walk from this machine. */
export function compared(there: Diagnosis, here: Diagnosis): Diagnosis {
  const byId = new Map(here.hops.map((hop) => [hop.id, hop]));
  const differences = there.hops.flatMap((hop) => {
    const own = byId.get(hop.id);
    return own === undefined ? [] : (differenceOf(own, hop) ?? []);
  });
  return { ...there, differences };
}

function differenceOf(here: Hop, there: Hop): Difference | undefined {
  const isSame = here.state === there.state && here.code === there.code;
  // The step because of which a step is skipped differs itself.
  if (isSame || there.state === "SKIPPED" || here.state === "SKIPPED") return undefined;
  const meaning = `${hopTitles[there.id]}: ${side("from here", here)}; ${side("from there", there)}`;
  return { hop: there.id, here: here.state, there: there.state, meaning };
}

function side(where: string, { state, code, message }: Hop): string {
  return state === "OK" ? `${where} it works` : `${where} ${code ?? state}: ${message}`;
}
