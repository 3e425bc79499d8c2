import { plainText } from "../../../api/foreign-text.ts";
import { knfCodes, type KnfCode } from "../../../api/knf/knf-codes.ts";
import { reasons } from "../../../api/reasons.ts";
import type { StatusItem } from "../fleet/status-item.ts";
import type { Before } from "../fleet/status-since.ts";
import { type FleetStatus, isOfCause } from "../fleet/status.ts";
import { rolloutCommand } from "../hub/rollout-steps.ts";
import { providerFileHint, pullOnlyHint } from "../spokes/spoke-reading.ts";
import { knfOf } from "./knf-of.ts";
import { codedReason, shortNameOf } from "./names.ts";
import { codedError, type ReportError } from "./report.ts";
import { type Commands, logHint, notStartedHint, stepLine, withHub, words } from "./steps.ts";

/** The request of the user, to write commands that work when pasted. */
export interface Asked {
  readonly commands: Commands;
  /** Whether the command reads a bundle instead of the fleet. */
  readonly recorded?: boolean;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  /** Whether names or labels restrict the request. */
  readonly narrowed: boolean;
}

const shownErrors = 10;

/** The lines below the status table: counts, causes, and what to do next about the worst finding. */
export function statusNotes(report: FleetStatus, asked: Asked): readonly string[] {
  const { summary, items } = report;
  if (items.length === 0) {
    return [...errorLines(report.errors), ...emptyNotes(asked), ...approvalLines(report, asked)];
  }
  return [
    ...notFoundLines(report),
    countsLine(summary),
    ...(summary.errors > 1 ? causeLines(report, asked) : []),
    ...nextLines(items, asked),
    ...approvalLines(report, asked),
  ];
}

/** How many installations there are, and how many of them are not well. */
export function countsLine(summary: FleetStatus["summary"]): string {
  const { total, healthy, inProgress, warnings, errors, unread } = summary;
  const counts = [
    `${healthy} healthy`,
    ...(inProgress > 0 ? [`${inProgress} in progress`] : []),
    ...(warnings > 0 ? [`${warnings} with warnings`] : []),
    ...(errors > 0 ? [`${errors} not healthy`] : []),
  ];
  const missing = unread > 0 ? ` The clusters of ${unread} could not be read.` : "";
  return `${countOf(total, "installation")}: ${counts.join(", ")}.${missing}`;
}

/** How many sets wait for an approval, and the command that gives it to each of them. */
function approvalLines({ sets }: FleetStatus, { commands }: Asked): readonly string[] {
  const waiting = (sets ?? []).filter(({ phase }) => phase === "AwaitingApproval");
  if (waiting.length === 0) return [];
  const many = waiting.length === 1 ? "waits" : "wait";
  const steps = waiting
    .slice(0, shownErrors)
    .map((set) => stepLine(withHub(rolloutCommand("approve", set), commands)));
  return [`${countOf(waiting.length, "fleet set")} ${many} for an approval:`, ...steps];
}

/** The lines in front of the data where no controller works for what it shows, or where that could not be looked at. */
export function controllerLines(
  { controller }: Pick<FleetStatus, "controller">,
  { commands, recorded = false }: Pick<Asked, "commands" | "recorded">,
): readonly string[] {
  if (controller === null || controller.message === null) return [];
  if (controller.works === null) return [`note: ${plainText(controller.message)}`];
  const next = recorded ? [] : controller.next.map((step) => stepLine(withHub(step, commands)));
  return [`error: ${plainText(controller.message)}`, ...next];
}

/** An error for each requested name that does not exist. */
export function notFoundLines({ errors }: FleetStatus): readonly string[] {
  return errorLines(errors.filter(isNotFound));
}

/** Installations of a bundle that do not exist any more. */
export function goneNotes(before: Before | undefined): readonly string[] {
  const gone = before?.gone() ?? [];
  return gone
    .slice(0, shownErrors)
    .map(({ kind, namespace, name }) => plainText(`gone: ${kind} ${namespace}/${name}`))
    .concat(gone.length > shownErrors ? [`gone: … and ${gone.length - shownErrors} more`] : []);
}

const shownCauses = 5;

/** One line for each cause, the most frequent first, with one next step. */
function causeLines({ items, summary }: FleetStatus, { commands }: Asked): readonly string[] {
  const lines = summary.causes.slice(0, shownCauses).flatMap((cause) => {
    const example = items.find((item) => isOfCause(item, cause));
    if (example === undefined) return [];
    const { provider, count } = cause;
    const by = provider === null ? "" : `, provider ${provider}`;
    return [`  ${count} × ${codedReason(cause)}${by}: ${withHub(nextStep(example), commands)}`];
  });
  const rest = summary.causes.length - lines.length;
  return ["causes:", ...lines, ...(rest > 0 ? [`  … and ${rest} more (-o json lists all)`] : [])];
}

// Reasons about the command line or the name: `diagnose` would find nothing else.
const unwalkable = [
  "NoProviderFile",
  "PluginNotRun",
  "PullOnly",
  "Interrupted",
  "StreamLimit",
  "LogUnavailable",
  "NotStarted",
  "NotServed",
];

/** The command to diagnose the first cluster that could not be read. */
function walkStep(
  errors: readonly ReportError[],
  asked: Pick<Asked, "commands" | "recorded"> | undefined,
): readonly string[] {
  if (asked === undefined || asked.recorded === true) return [];
  const cluster = errors.find(
    (error) => error.cluster !== null && !isMissing(error) && !unwalkable.includes(error.reason),
  )?.cluster;
  if (cluster === undefined || cluster === null) return [];
  return [stepLine(`${asked.commands.knfleet} ${words("diagnose", cluster)}`)];
}

/** The lines about clusters and names that could not be read or found, and why. With `asked` they name the command that tells more. */
export function unreadNotes(
  errors: readonly ReportError[],
  { unread, clusters }: { readonly unread: number; readonly clusters: number },
  asked?: Pick<Asked, "commands" | "recorded">,
): readonly string[] {
  const noFile = errors.some(({ reason }) => reason === "NoProviderFile");
  const hints = [
    { of: "LogUnavailable", hint: logHint },
    { of: "NotStarted", hint: notStartedHint },
  ].filter(({ of }) => asked !== undefined && errors.some(({ reason }) => reason === of));
  const missing = errors.filter(isMissing);
  const others = errors.filter((error) => !isMissing(error));
  const heading =
    unread > 0
      ? `${unread} of ${countOf(clusters, "cluster")} could not be read:`
      : "Not everything could be read:";
  // A report about one error has no number of clusters.
  const isHeaded = others.length > 0 && (unread > 0 || clusters > 0);
  return [
    ...errorLines(missing),
    ...(isHeaded ? [heading] : []),
    ...errorLines(others),
    ...(noFile ? [stepLine(providerFileHint)] : []),
    ...hints.map(({ hint }) => stepLine(hint)),
    ...walkStep(errors, asked),
  ];
}

/** The lines about failures that a command meets while it goes on. */
export function troubleLines(errors: readonly ReportError[]): readonly string[] {
  return unreadNotes(errors, { unread: 0, clusters: 0 }).map((line) => line.trim());
}

const liveHint = `To see what the clusters say, n${providerFileHint.slice(1)}`;

function nextLines(items: readonly StatusItem[], asked: Asked): readonly string[] {
  const worst =
    items.find(({ severity }) => severity === "error") ??
    items.find(({ severity }) => severity === "warning");
  const notSeen = ["NoProviderFile", "PluginNotRun"].flatMap((reason) => {
    const item = items.find(({ live }) => live.reason === reason);
    return item === undefined ? [] : [item.live.message];
  });
  const noFile = items.some(({ live }) => live.reason === "NoProviderFile");
  return [
    ...(worst === undefined ? [] : stepsOf(worst, asked)),
    ...notSeen.flatMap((message) => (message === null ? [] : [plainText(message)])),
    ...(noFile ? [stepLine(liveHint)] : []),
  ];
}

/** The next step for the worst finding, and the command that tells more about it. */
function stepsOf(worst: StatusItem, { commands }: Asked): readonly string[] {
  const walk = `kubectl knfleet ${words("diagnose", shortNameOf(worst), "-n", worst.namespace)}`;
  return [nextStep(worst), walk].map((step) => stepLine(withHub(step, commands)));
}

/** The lines of a command that selected no installation. */
export function emptyNotes({ commands, namespace, narrowed }: Asked): readonly string[] {
  const where = namespace === undefined ? "in any namespace" : `in ${namespace} namespace`;
  return [
    `No ${narrowed ? "matching " : ""}Knative installations found ${where}.`,
    ...(namespace === undefined ? [] : [stepLine(`${commands.knfleet} status -A`)]),
  ];
}

function errorLines(errors: readonly ReportError[]): readonly string[] {
  const lines = errors.slice(0, shownErrors).map((error) => {
    const text = plainText(error.message);
    const said = `${codedReason(codedError(error))}: ${text}`;
    if (error.cluster !== null) return `  ${error.cluster}: ${said}`;
    return isMissing(error) ? `error: ${text}` : `  <hub>: ${said}`;
  });
  const rest = errors.length - lines.length;
  return rest > 0 ? [...lines, `  … and ${rest} more (-o json lists all)`] : lines;
}

function isNotFound({ reason }: ReportError): boolean {
  return reason === "NotFound";
}

/** Whether an error is about a name that does not exist, and not about a cluster. */
export function isMissing({ reason, cluster }: ReportError): boolean {
  return cluster === null && (reason === "NotFound" || reason === "NotServed");
}

/** `1 cluster`, `2 clusters`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Findings whose cause stands in a message or at a Deployment. */
const vague: readonly KnfCode[] = ["KNF1018", "KNF6008", "KNF6009"];

/** Findings that a new token of `register` mends, where `register` made the ClusterProfile. */
export const renewable: readonly KnfCode[] = ["KNF5001", "KNF3014", "KNF3015", "KNF3020"];

/** The sentence or command that helps most with an unhealthy installation: that of the code in its row. A command comes without the flags for the hub. */
export function nextStep(item: StatusItem): string {
  const { code, reason, hub, live, severity } = item;
  if (severity === "progress") {
    const goal = hub.state === "Deleting" ? ["--for", "deleted"] : [];
    return words("kubectl", "knfleet", "wait", shortNameOf(item), "-n", item.namespace, ...goal);
  }
  if (hub.state === "Ready" && reason === "PullOnly") return pullOnlyHint;
  if (code !== null && !vague.includes(code)) {
    return nextOfCode(code, reason) + renewalOf(item, code);
  }
  // `NotReady` is the reason of upstream for DeploymentsAvailable.
  if (live.state === "NotAvailable" || reason === "NotReady") return deploymentsOf(item);
  return nextOfReason(reason) ?? descriptionOf(item);
}

/** The catalogue of reasons says more, where the reason has one cause. */
function nextOfCode(code: KnfCode, reason: string | null): string {
  const isCause = code === knfOf(reason) && reason !== "ClusterBusy";
  return (isCause ? nextOfReason(reason) : undefined) ?? knfCodes[code].next;
}

function renewalOf({ cluster }: StatusItem, code: KnfCode): string {
  if (cluster === null || !renewable.includes(code)) return "";
  const target = `${cluster.namespace}/${cluster.name}`;
  return ` For a registered cluster: ${words("kubectl", "knfleet", "register", target)}`;
}

function descriptionOf({ kind, namespace, name }: StatusItem): string {
  const type = `${kind.toLowerCase()}.operator.knative.dev`;
  return words("kubectl", "describe", type, name, "-n", namespace);
}

function deploymentsOf(item: StatusItem): string {
  return words("kubectl", "knfleet", "deployments", shortNameOf(item), "-n", item.namespace);
}

const reasonOfCode: Readonly<Record<string, keyof typeof reasons>> = {
  NoMatchingProvider: "MulticlusterDisabled",
  PluginFailed: "AccessProviderFailed",
  EndpointInvalid: "RemoteClientCreationFailed",
};

function nextOfReason(reason: string | null): string | undefined {
  const wanted = reasonOfCode[reason ?? ""] ?? reason;
  return Object.entries(reasons).find(([name]) => name === wanted)?.[1].next;
}
