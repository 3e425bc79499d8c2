import { setTimeout as delay } from "node:timers/promises";

import { recordAt } from "../../../../api/fields.ts";
import type { Manifest } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { words } from "../../commands.ts";
import { agreed } from "../../hub/agreed.ts";
import { itemsAt, stringAt } from "../../selection/fields.ts";
import { UsageError } from "../../usage-error.ts";
import { diagnosisOf } from "./diagnose.ts";
import type { Diagnosis, Target } from "./diagnosis.ts";
import type { Elsewhere } from "./elsewhere.ts";
import { flagOf, type ControllerDeployment } from "./find-controller.ts";
import { readShortReport } from "./short-report.ts";

const jobs = knownResource("batch/v1", "Job");
const pods = knownResource("v1", "Pod");
const reportFile = "/dev/termination-log";
const deadlineSeconds = 120;

/**
 * Walks in a Job with the controller's image, ServiceAccount, volumes and environment, so over its network and as its identity. Asks first;
 * the Job is deleted in the end. Throws UsageError when nobody agreed, or when the Job does not report.
 */
export async function walkByJob(
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
  // What belongs to a server is left out.
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

/** What the container of a Job said when it ended. */
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
