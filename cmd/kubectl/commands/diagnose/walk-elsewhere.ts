import { setTimeout as delay } from "node:timers/promises";

import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { recordAt } from "../../../../api/fields.ts";
import type { Manifest } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import type { ActionInput } from "../../action.ts";
import { UsageError } from "../../errors.ts";
import {
  type ControllerDeployment,
  flagOf,
  listControllerDeployments,
  onlyController,
} from "../../hub/find-controller.ts";
import { openHub } from "../../hub/open-hub.ts";
import { words } from "../../output/steps.ts";
import { askForAgreement } from "../../output/terminal.ts";
import { itemsAt, stringAt } from "../../selection/fields.ts";
import { diagnose, type DiagnoseOptions, diagnosisOf } from "./diagnose.ts";
import type { DiagnoseFlags, Diagnosis, Difference, Target, Vantage } from "./diagnosis.ts";
import { type Hop, hopTitles } from "./hops/hop.ts";
import { prepareWalk } from "./prepare-walk.ts";
import { readShortReport } from "./short-report.ts";
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
      ? await walkByJob(controller, elsewhere, signal)
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

const jobs = knownResource("batch/v1", "Job");
const pods = knownResource("v1", "Pod");
const reportFile = "/dev/termination-log";
const deadlineSeconds = 120;

/**
 * Walks in a Job with the controller's image, ServiceAccount, volumes and environment, so with its network and identity. Asks the user first, and
 * deletes the Job at the end. Throws UsageError without the user's consent, and when the Job does not report.
 */
async function walkByJob(
  controller: ControllerDeployment,
  { input, context: { hub }, walks: { targets } }: Elsewhere,
  signal: AbortSignal,
): Promise<readonly Diagnosis[]> {
  const job = jobOf(controller, targets);
  const { namespace, name } = controller;
  await askForAgreement(
    `This makes a Job in namespace ${namespace} like the Deployment ${name}, and deletes it again.`,
    {
      yes: input.options.yes === true,
      input: input.flags.input,
    },
    input.terminal,
  );
  const created = await hub.create({ resource: jobs, namespace }, job, {}, signal);
  const ref = { resource: jobs, namespace, name: created.metadata.name };
  try {
    const text = await readTerminationMessage(ref, hub, signal);
    const walks = readShortReport(text, targets);
    if (walks === undefined) {
      throw new UsageError(`The Job ${namespace}/${ref.name} ended without a report`, [
        words("kubectl", "logs", `job/${ref.name}`, "-n", namespace),
      ]);
    }
    return walks.map(({ target, hops }) => diagnosisOf(target, "controller", hops));
  } finally {
    // The Job is deleted after Ctrl-C, too.
    const late = withTimeout(systemClock, 5_000, undefined);
    await hub.remove(ref, { propagationPolicy: "Background" }, late).catch(() => undefined);
  }
}

/** The Job: the controller's pod, running `diagnose`. Throws UsageError for more than one target. */
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

/** The command of this program: beside that of the controller, or by its name when the Deployment sets no command. */
function programOf(container: Readonly<Record<string, unknown>>): readonly string[] {
  const command = itemsAt(container, "command").map(String);
  const at = command.findIndex((word) => word.includes("knfleet-controller"));
  if (at < 0) return ["kubectl-knfleet"];
  return command
    .slice(0, at + 1)
    .map((word) => word.replace("knfleet-controller", "kubectl-knfleet"));
}

/** Waits for the termination message of the Job's container; empty when there is none within the Job's time. */
async function readTerminationMessage(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  hub: KubeClient,
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
