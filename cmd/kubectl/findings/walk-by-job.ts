import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { rightTexts, rightTo } from "../../../access/kube/missing-right.ts";
import { withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { recordAt } from "../../../api/fields.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import type { ActionInput } from "../action.ts";
import { UsageError } from "../errors.ts";
import { type ControllerDeployment, flagOf } from "../hub/find-controller.ts";
import { words } from "../output/steps.ts";
import { askForAgreement, type Terminal } from "../output/terminal.ts";
import { lackText, missingRights } from "../rights/missing-rights.ts";
import { itemsAt, stringAt } from "../selection/fields.ts";
import { diagnosisOf } from "./diagnose.ts";
import type { DiagnoseFlags, Diagnosis, Target } from "./diagnosis.ts";
import { readShortReport } from "./short-report.ts";

const jobs = knownResource("batch/v1", "Job");
const pods = knownResource("v1", "Pod");
const reportFile = "/dev/termination-log";
const deadlineSeconds = 120;

interface JobWalk {
  readonly input: Pick<ActionInput<DiagnoseFlags>, "flags" | "options" | "terminal">;
  readonly hub: KubeClient;
  readonly targets: readonly Target[];
}

/**
 * Walks in a Job with the controller's image, ServiceAccount, volumes and environment, so with its network and identity. Asks the user first, and
 * deletes the Job at the end. Throws UsageError without the rights, without the user's consent, and when the Job does not report.
 */
export async function walkByJob(
  controller: ControllerDeployment,
  { input, hub, targets }: JobWalk,
  signal: AbortSignal,
): Promise<readonly Diagnosis[]> {
  // The name is drawn here, so that the Job can be deleted also when the answer of its creation is lost.
  const name = `knfleet-diagnose-${randomBytes(3).toString("hex")}`;
  const job = jobOf(controller, targets, name);
  const { namespace } = controller;
  await checkRights(namespace, hub, signal);
  await askForAgreement(
    `This makes a Job in namespace ${namespace} like the Deployment ${controller.name}, and deletes it again.`,
    {
      yes: input.options.yes === true,
      input: input.flags.input,
    },
    input.terminal,
  );
  const place = { namespace, name };
  try {
    await hub.create({ resource: jobs, namespace }, job, {}, signal);
    const text = await readTerminationMessage(place, hub, signal);
    const walks = readShortReport(text, targets);
    if (walks === undefined) {
      throw new UsageError(`The Job ${namespace}/${name} ended without a report`, [
        words("kubectl", "logs", `job/${name}`, "-n", namespace),
      ]);
    }
    return walks.map(({ target, hops }) => diagnosisOf(target, "controller", hops));
  } finally {
    await removeJob(place, hub, input.terminal);
  }
}

/** Throws UsageError for the rights that the walk by a Job needs and that are missing. */
async function checkRights(namespace: string, hub: KubeClient, signal: AbortSignal): Promise<void> {
  const rights = [
    ...["create", "get", "delete"].map((verb) => rightTo(verb, jobs, namespace)),
    rightTo("list", pods, namespace),
  ];
  const missing = await missingRights(rights, hub, signal);
  if (missing.length > 0) throw new UsageError(lackText("the hub", rightTexts(missing)));
}

/** Deletes the Job, after Ctrl-C too, and says so when it may still be there. */
async function removeJob(
  { namespace, name }: Place,
  hub: KubeClient,
  { stderr }: Pick<Terminal, "stderr">,
): Promise<void> {
  const ref = { resource: jobs, namespace, name };
  const late = withTimeout(systemClock, 5_000, undefined);
  try {
    const found = await hub.get(ref, { metadataOnly: true }, late);
    if (found === undefined) return;
    const { uid } = found.metadata;
    await hub.remove(ref, { uid, propagationPolicy: "Background" }, late);
  } catch {
    const command = words("kubectl", "delete", "job", name, "-n", namespace);
    stderr.write(
      `warning: Job ${namespace}/${name} may be left; Kubernetes deletes it five minutes after its end. To delete it now:\n${command}\n`,
    );
  }
}

interface Place {
  readonly namespace: string;
  readonly name: string;
}

/** The Job: the controller's pod, running `diagnose`. Throws UsageError for more than one target. */
export function jobOf(
  controller: ControllerDeployment,
  targets: readonly Target[],
  name: string,
): Manifest {
  const pod = recordAt(controller.object, "spec", "template", "spec");
  const labels = {
    "app.kubernetes.io/part-of": "knfleet",
    "app.kubernetes.io/component": "diagnose",
  };
  const { namespace } = controller;
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { namespace, name, labels },
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
  { namespace, name }: Place,
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
