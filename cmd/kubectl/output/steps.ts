import { type ClusterProfileRef, type Component, componentKinds } from "../../../api/component.ts";
import { plainText } from "../../../api/foreign-text.ts";
import type { GivenFlags } from "../hub/hub-flags.ts";

/** The beginnings of commands that a person pastes. */
export interface Commands {
  /** `kubectl` with the flags that name the hub. */
  readonly kubectl: string;
  /** `kubectl knfleet` with the same flags, and with those for the access to clusters. */
  readonly knfleet: string;
}

/**
 * Commands with the flags of this command line. A token must not be shown: with `--token`, each command starts with a note that it is missing.
 */
export function commandsOf({
  given,
  bundle,
}: {
  readonly given: GivenFlags;
  readonly bundle: string | undefined;
}): Commands {
  const missing = given.hasToken ? "with your --token: " : "";
  const ofKubectl = given.hub.flatMap(([flag = "", ...value]) => [
    // The name of the flag in kubectl.
    flag === "--hub-cluster" ? "--cluster" : flag,
    ...value,
  ]);
  const own = [
    ...(bundle === undefined ? given.way.flat() : ["--bundle", bundle]),
    ...given.hub.flat(),
  ];
  return {
    kubectl: `${missing}${words("kubectl", ...ofKubectl)}`,
    knfleet: `${missing}${words("kubectl", "knfleet", ...own)}`,
  };
}

/** Words as a shell command: special words are quoted. */
export function words(...parts: readonly string[]): string {
  return parts.map(shellWord).join(" ");
}

/** What to do about two components of a kind on one cluster. */
export function oneOfTwo(component: Component, other: Component): readonly string[] {
  const { plural } = componentKinds[component.kind];
  return [
    "Delete the one of the two that is not meant:",
    ...[component, other].map(({ metadata: { namespace, name } }) =>
      words("kubectl", "delete", plural, name, "-n", namespace),
    ),
  ];
}

/** Quotes a foreign word, so that a shell takes it as one word. */
export function shellWord(text: string): string {
  const plain = plainText(text);
  return /^[\w.:/@%+,-][\w.:/@%+,=-]*$/.test(plain)
    ? plain
    : `'${plain.replaceAll("'", String.raw`'\''`)}'`;
}

/** The command for kubectl on a cluster. Null: the hub itself. Without flags, which `withHub` adds. */
export function kubectlOn(cluster: ClusterProfileRef | null | undefined): string {
  if (cluster === null || cluster === undefined) return "kubectl";
  return `${words("kubectl", "knfleet", "connect", `${cluster.namespace}/${cluster.name}`)} -- kubectl`;
}

// Commands that do not use the hub, or that name everything they need.
const asksNoHub =
  /^kubectl (?:config |knfleet (?:explain|completion|version --client|can-i --role)\b)|--help$| --bundle /;

/** Adds the flags for the hub to a step that is a command without them. */
export function withHub(step: string, { kubectl, knfleet }: Commands): string {
  if (!isCommand(step) || asksNoHub.test(step)) return step;
  const own = "kubectl knfleet ";
  if (step.startsWith(own)) return `${knfleet} ${step.slice(own.length)}`;
  return step.replace(/^kubectl /, () => `${kubectl} `);
}

/** Adds the flags for the hub to every step (`next`) of a document. */
export function withHubSteps<Document>(document: Document, commands: Commands): Document;
export function withHubSteps(document: unknown, commands: Commands): unknown {
  if (Array.isArray(document)) return document.map((one: unknown) => withHubSteps(one, commands));
  if (typeof document !== "object" || document === null) return document;
  const fields = Object.entries(document).map(([name, value]: readonly [string, unknown]) => {
    const isSteps = name === "next" && Array.isArray(value);
    const steps = isSteps
      ? value.map((step: unknown) => (typeof step === "string" ? withHub(step, commands) : step))
      : withHubSteps(value, commands);
    return [name, steps] as const;
  });
  return Object.fromEntries(fields);
}

export const installCrds =
  "Install the CRDs of knfleet or of the Knative Operator on the hub, or choose the hub with --context.";
export const installInventory =
  "Install the CRDs of the Cluster Inventory API on the hub, or choose the hub with --context.";
export const installSets =
  "Turn fleet sets on in the chart of knfleet (sets.enabled=true), or choose the hub with --context.";

export const logHint =
  "Look whether the nodes of these pods run, and whether the API server reaches their kubelets. Nodes that kwok plays have no logs.";

export const notStartedHint =
  "The container has not started: look at its pod with kubectl knfleet deployments.";

/** Whether a step is a command that can be pasted. Every other step is a sentence. */
export function isCommand(step: string): boolean {
  return /^(?:kubectl|chmod) |^(?:KUBECONFIG|KUBERNETES_EXEC_INFO)=/.test(step);
}

/** A line for one step: `next:` and a command that can be pasted, or `hint:` and a sentence. */
export function stepLine(step: string, about = ""): string {
  const label = isCommand(step) ? "next" : "hint";
  return `${label}${about === "" ? "" : ` (${about})`}: ${plainText(step)}`;
}

/** A numbered list of steps. A command that belongs to the sentence before it has its own line without a number, so that it can be pasted. */
export function numberedSteps(steps: readonly string[]): readonly string[] {
  let number = 0;
  return steps.map((step, at) => {
    const isBelow = isCommand(step) && steps.slice(0, at).findLast(isSentence)?.endsWith(":");
    if (isBelow === true) return `     ${plainText(step)}`;
    number += 1;
    return `  ${number}. ${plainText(step)}`;
  });
}

function isSentence(step: string): boolean {
  return !isCommand(step);
}

/** A failure as the user sees it. */
export interface Failure {
  /** The failure, with the object and the reason. */
  readonly error: string;
  /** The chain of causes, outermost first. Absent: there is none. */
  readonly causes?: readonly string[];
  /** One or two things to do. */
  readonly next: readonly string[];
}

/** `error:`, `cause:`, `next:` and `hint:` lines, without characters that a terminal interprets. */
export function renderFailure({ error, causes = [], next }: Failure): string {
  return [
    `error: ${plainText(error)}`,
    ...causes.map((cause) => `cause: ${plainText(cause)}`),
    ...next.map((step) => stepLine(step)),
  ]
    .map((line) => `${line}\n`)
    .join("");
}
