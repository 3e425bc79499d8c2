import { reasons } from "../../../api/reasons.ts";
import type { DeploymentList } from "../deployments.ts";
import type { ReportError } from "../report.ts";
import type { StatusItem } from "../status-item.ts";
import type { FleetStatus } from "../status.ts";
import { plainText } from "./plain-text.ts";

/** What the user asked for, to write commands that work when pasted. */
export interface Asked {
  /** `kubectl knfleet` with the flags that name the hub. */
  readonly command: string;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  /** Whether only part of what is there was asked for, by name or label. */
  readonly narrowed: boolean;
}

const shownErrors = 10;

/** The lines below the status table: counts, causes, and what to do next about the worst finding. */
export function statusNotes(report: FleetStatus, asked: Asked): readonly string[] {
  const { summary, items } = report;
  if (items.length === 0) return [...errorLines(report.errors), ...emptyNotes(asked)];
  const counts = [
    `${summary.healthy} healthy`,
    ...(summary.warnings > 0 ? [`${summary.warnings} in progress`] : []),
    ...(summary.errors > 0 ? [`${summary.errors} not healthy`] : []),
    ...(summary.unread > 0 ? [`${summary.unread} not read`] : []),
  ];
  const noun = summary.total === 1 ? "installation" : "installations";
  const causes = summary.causes.map(({ reason, count }) => `${reason} (${count})`);
  return [
    ...errorLines(report.errors.filter(isNotFound)),
    `${summary.total} ${noun}: ${counts.join(", ")}.`,
    ...(summary.errors > 1 ? [`causes: ${causes.join(", ")}`] : []),
    ...nextLines(items, asked),
  ];
}

/** The lines below the Deployments: what could not be read, and why. */
export function deploymentNotes(list: DeploymentList, asked: Asked): readonly string[] {
  const { clusters, unread } = list.summary;
  if (clusters === 0) return [...errorLines(list.errors), ...emptyNotes(asked)];
  const isEmpty = list.items.length === 0 && unread < clusters;
  const noun = clusters === 1 ? "cluster" : "clusters";
  const noFile = list.errors.some(({ reason }) => reason === "NoProviderFile");
  return [
    ...(isEmpty ? ["No Knative deployments found."] : []),
    ...(unread > 0 ? [`${unread} of ${clusters} ${noun} could not be read:`] : []),
    ...errorLines(list.errors),
    ...(noFile ? [`next: ${providerFileHint}`] : []),
  ];
}

const providerFileHint =
  "name the provider file with --clusterprofile-provider-file or KNFLEET_PROVIDER_FILE";

function nextLines(items: readonly StatusItem[], asked: Asked): readonly string[] {
  const worst = items.find(({ severity }) => severity === "error");
  const noFile = items.some(({ live }) => live.reason === "NoProviderFile");
  return [
    ...(worst === undefined ? [] : [`next: ${nextStep(worst, asked)}`]),
    ...(noFile ? [`next: to see what the clusters say, ${providerFileHint}`] : []),
  ];
}

function nextStep({ kind, namespace, name, reason, live }: StatusItem, asked: Asked): string {
  const short = kind === "KnativeServing" ? "ks" : "ke";
  if (live.state === "NotAvailable" || live.reason === "NoDeployments") {
    return `${asked.command} deployments ${short}/${name} -n ${namespace}`;
  }
  const known = Object.entries(reasons).find(([key]) => key === reason);
  if (known !== undefined) return known[1].next;
  return `kubectl describe ${kind.toLowerCase()}.operator.knative.dev ${name} -n ${namespace}`;
}

function emptyNotes({ command, namespace, narrowed }: Asked): readonly string[] {
  const where = namespace === undefined ? "in any namespace" : `in ${namespace} namespace`;
  return [
    `No ${narrowed ? "matching " : ""}Knative installations found ${where}.`,
    ...(namespace === undefined ? [] : [`next: ${command} status -A looks in all namespaces`]),
  ];
}

function errorLines(errors: readonly ReportError[]): readonly string[] {
  const lines = errors.slice(0, shownErrors).map(({ cluster, reason, message }) => {
    const text = plainText(message);
    if (cluster !== null) return `  ${cluster}: ${reason}: ${text}`;
    return reason === "NotFound" ? `error: ${text}` : `  <hub>: ${reason}: ${text}`;
  });
  const rest = errors.length - lines.length;
  return rest > 0 ? [...lines, `  … and ${rest} more (-o json lists all)`] : lines;
}

function isNotFound({ reason }: ReportError): boolean {
  return reason === "NotFound";
}
