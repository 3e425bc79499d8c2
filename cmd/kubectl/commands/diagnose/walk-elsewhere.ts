import { setTimeout as delay } from "node:timers/promises";

import { recordAt } from "../../../../api/fields.ts";
import type { Manifest } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import type { ActionInput } from "../../action.ts";
import { UsageError } from "../../errors.ts";
import { type ControllerDeployment, findControllers, flagOf } from "../../hub/find-controller.ts";
import { words } from "../../output/steps.ts";
import { agreed } from "../../output/terminal.ts";
import { itemsAt, stringAt } from "../../selection/fields.ts";
import { diagnose, type DiagnoseOptions, diagnosisOf } from "./diagnose.ts";
import type { DiagnoseFlags, Diagnosis, Difference, Target, Vantage } from "./diagnosis.ts";
import { type Hop, hopTitles } from "./hops/hop.ts";
import { type OpenVantage, openVantage } from "./open-vantage.ts";
import { readShortReport } from "./short-report.ts";
import type { WalkContext } from "./walk.ts";

/** A walk from this machine, and the input for the same walk from another place. */
interface Elsewhere {
  readonly input: ActionInput<DiagnoseFlags>;
  readonly here: OpenVantage;
  readonly context: WalkContext;
  readonly local: readonly Diagnosis[];
  readonly options: Omit<DiagnoseOptions, "vantage">;
  readonly contextOf: (input: ActionInput<DiagnoseFlags>, vantage: OpenVantage) => WalkContext;
}

/** Walks as the controller's identity, or by a Job on the hub, and compares. Throws UsageError when there is no controller to take it from. */
export async function walkElsewhere(
  vantage: Exclude<Vantage, "local">,
  elsewhere: Elsewhere,
  signal: AbortSignal,
): Promise<readonly Diagnosis[]> {
  const controller = await controllerOf(elsewhere.here, signal);
  if (vantage === "controller") {
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

const jobs = knownResource("batch/v1", "Job");
const pods = knownResource("v1", "Pod");
const reportFile = "/dev/termination-log";
const deadlineSeconds = 120;

/**
 * Walks in a Job with the controller's image, ServiceAccount, volumes and environment, so over its network and as its identity. Asks first;
 * the Job is deleted in the end. Throws UsageError when nobody agreed, or when the Job does not report.
 */
async function walkByJob(
  controller: ControllerDeployment,
  { input, here, options: { targets } }: Elsewhere,
  signal: AbortSignal,
): Promise<readonly Diagnosis[]> {
  const job = jobOf(controller, targets);
  const { namespace, name } = controller;
  await agreed(
    `This makes a Job in namespace ${namespace} like the Deployment ${name}, and deletes it again.`,
    {
      yes: input.options.yes === true,
      input: input.flags.input,
    },
    input.terminal,
  );
  const created = await here.hub.create({ resource: jobs, namespace }, job, {}, signal);
  const ref = { resource: jobs, namespace, name: created.metadata.name };
  try {
    const text = await lastWords(ref, here.hub, signal);
    const walks = readShortReport(text, targets);
    if (walks === undefined) {
      throw new UsageError(`The Job ${namespace}/${ref.name} ended without a report`, [
        words("kubectl", "logs", `job/${ref.name}`, "-n", namespace),
      ]);
    }
    return walks.map(({ target, hops }) => diagnosisOf(target, "controller", hops));
  } finally {
    // Also after Ctrl-C: the Job must not stay.
    const late = AbortSignal.timeout(5_000);
    await here.hub.remove(ref, { propagationPolicy: "Background" }, late).catch(() => undefined);
  }
}

/** The Job: the controller's pod with another program in it. Throws UsageError for more than one target. */
export function jobOf(controller: ControllerDeployment, targets: readonly Target[]): Manifest {
  const pod = recordAt(controller.object, "spec", "template", "spec");
  const labels = {
    "app.kubernetes.io/part-of": "knfleet",
    "app.kubernetes.io/component": "diagnose",
  };
  const { namespace } = controller;
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { generateName: "knfleet-diagnose-", namespace, labels },
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: deadlineSeconds,
      ttlSecondsAfterFinished: 300,
      template: {
        metadata: { labels },
        spec: {
          ...pod,
          restartPolicy: "Never",
          containers: [containerOf(controller, argsOf(controller, targets))],
        },
      },
    },
  };
}

function containerOf({ object }: ControllerDeployment, args: readonly string[]): object {
  const [first] = itemsAt(object, "spec", "template", "spec", "containers");
  const container = recordAt(first);
  // Fields that only a server needs are left out.
  const server = ["ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"];
  const kept = Object.entries(container).filter(([field]) => !server.includes(field));
  return {
    ...Object.fromEntries(kept),
    name: "diagnose",
    command: programOf(container),
    args,
    terminationMessagePath: reportFile,
    terminationMessagePolicy: "File",
  };
}

function argsOf(
  controller: ControllerDeployment,
  [target, ...more]: readonly Target[],
): readonly string[] {
  if (target === undefined || more.length > 0) {
    throw new UsageError("--from controller walks to one target: name it");
  }
  const file = flagOf(controller, "--clusterprofile-provider-file");
  return [
    "diagnose",
    ...targetArgs(target),
    ...(file === undefined ? [] : ["--clusterprofile-provider-file", file]),
    "--report-file",
    reportFile,
    "--fail-on",
    "never",
  ];
}

function targetArgs({ kind, namespace, name }: Target): readonly string[] {
  if (kind === "ClusterProfile") return [`${namespace}/${name}`];
  return [`${kind.toLowerCase()}/${name}`, "--namespace", namespace];
}

/** How the image starts this program: beside the controller's, or by its name when the image says itself what it starts. */
function programOf(container: Readonly<Record<string, unknown>>): readonly string[] {
  const command = itemsAt(container, "command").map(String);
  const at = command.findIndex((word) => word.includes("knfleet-controller"));
  if (at < 0) return ["kubectl-knfleet"];
  return command
    .slice(0, at + 1)
    .map((word) => word.replace("knfleet-controller", "kubectl-knfleet"));
}

/** Termination message of a Job's container. */
async function lastWords(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  hub: Elsewhere["here"]["hub"],
  signal: AbortSignal,
): Promise<string> {
  const endMs = performance.now() + deadlineSeconds * 1_000;
  const ref = { resource: pods, namespace, labelSelector: `batch.kubernetes.io/job-name=${name}` };
  while (performance.now() < endMs) {
    const { items } = await hub.list(ref, {}, signal);
    for (const pod of items) {
      for (const status of itemsAt(pod, "status", "containerStatuses")) {
        const message = stringAt(status, "state", "terminated", "message");
        const code = recordAt(status, "state", "terminated")["exitCode"];
        if (message !== null) return message;
        if (code !== undefined) return "";
      }
    }
    await delay(500, undefined, { signal });
  }
  return "";
}

/** A walk from another place, with explained differences to the walk from here. */
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
  // The step that blocks a skipped one is reported itself.
  if (isSame || there.state === "SKIPPED" || here.state === "SKIPPED") return undefined;
  const meaning = `${hopTitles[there.id]}: ${side("from here", here)}; ${side("from there", there)}`;
  return { hop: there.id, here: here.state, there: there.state, meaning };
}

function side(where: string, { state, code, message }: Hop): string {
  return state === "OK" ? `${where} it works` : `${where} ${code ?? state}: ${message}`;
}
