import type { ClusterProfileRef } from "../../../api/component.ts";
import { plainText } from "../../../api/foreign-text.ts";
import type { GivenFlags } from "../hub/hub-flags.ts";
import { wrapped } from "./characters.ts";

/** How commands begin that a person pastes. */
export interface Commands {
  /** `kubectl` with the flags that name the hub. */
  readonly kubectl: string;
  /** `kubectl knfleet` with those, and with the flags that say how clusters are reached. */
  readonly knfleet: string;
}

/**
 * Commands with the flags that were given. A token must not be shown, so with one of the user's no command can be pasted as it is, and each begins with
 * what is missing.
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
    // What it is called by kubectl.
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

/** Words as a shell takes them for these very words: what is no plain word is quoted. */
export function words(...parts: readonly string[]): string {
  return parts.map(shellWord).join(" ");
}

/** A word that a cluster or a person chose, so that a shell takes it for one word and nothing else. */
export function shellWord(text: string): string {
  const plain = plainText(text);
  return /^[\w.:/@%+,-][\w.:/@%+,=-]*$/.test(plain)
    ? plain
    : `'${plain.replaceAll("'", String.raw`'\''`)}'`;
}

/** kubectl on a cluster; null for the hub itself. Plain, so that `withHub` adds the flags. */
export function kubectlOn(cluster: ClusterProfileRef | null | undefined): string {
  if (cluster === null || cluster === undefined) return "kubectl";
  return `${words("kubectl", "knfleet", "connect", `${cluster.namespace}/${cluster.name}`)} -- kubectl`;
}

// What asks no hub, or names all that it needs.
const asksNoHub =
  /^kubectl (?:config |knfleet (?:explain|completion|version --client|can-i --role)\b)|--help$| --bundle /;

/** A step with the flags that name the hub, where it is a command without them. */
export function withHub(step: string, { kubectl, knfleet }: Commands): string {
  if (!isCommand(step) || asksNoHub.test(step)) return step;
  const own = "kubectl knfleet ";
  if (step.startsWith(own)) return `${knfleet} ${step.slice(own.length)}`;
  return step.replace(/^kubectl /, () => `${kubectl} `);
}

/** A document in which every step (`next`) can be pasted. */
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

/** Whether a step is a command that can be pasted as it is; everything else is a sentence. */
export function isCommand(step: string): boolean {
  return /^(?:kubectl|chmod) |^(?:KUBECONFIG|KUBERNETES_EXEC_INFO)=/.test(step);
}

/** A line for one step: `next:` stands before a command that can be pasted, `hint:` before what is to be done in words. */
export function stepLine(step: string, about = ""): string {
  const label = isCommand(step) ? "next" : "hint";
  return `${label}${about === "" ? "" : ` (${about})`}: ${plainText(step)}`;
}

/** A numbered list of steps. A command that belongs to the sentence before it stands below that, so that its line can be pasted. */
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

/** The line of a step in lines of a width; a command stays one line, so that it can be pasted. */
export function wrappedStep(line: string, width: number | undefined): readonly string[] {
  const step = line.replace(/^ *(?:\d+\. |next(?: \([^)]*\))?: )?/, "");
  return isCommand(step) ? [line] : wrapped(line, width, line.startsWith(" ") ? 5 : 2);
}

/** A failure as the user sees it. */
export interface Failure {
  /** What failed, with the object and why. */
  readonly error: string;
  /** The chain of causes, outermost first. */
  readonly causes: readonly string[];
  /** One or two things to do. */
  readonly next: readonly string[];
}

/** `error:`, `cause:`, `next:` and `hint:` lines, without anything that a terminal would act on. */
export function renderFailure({ error, causes, next }: Failure): string {
  return [
    `error: ${plainText(error)}`,
    ...causes.map((cause) => `cause: ${plainText(cause)}`),
    ...next.map((step) => stepLine(step)),
  ]
    .map((line) => `${line}\n`)
    .join("");
}
