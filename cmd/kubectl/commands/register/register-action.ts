import { randomBytes } from "node:crypto";

import { loadKubeconfig } from "../../../../access/hub/kubeconfig.ts";
import { plainText } from "../../../../api/foreign-text.ts";
import { type ActionInput, print, tableText } from "../../action.ts";
import { type ExitCode, exitCodes } from "../../errors.ts";
import { openHub } from "../../hub/open-hub.ts";
import { checkWriteFormat, isTable, renderJson } from "../../output/output-format.ts";
import {
  commandsOf,
  renderFailure,
  stepLine,
  words,
  withHub,
  withHubSteps,
} from "../../output/steps.ts";
import { askForAgreement, documentOutput } from "../../output/terminal.ts";
import { walk } from "../diagnose/diagnose-action.ts";
import { diagnosisRendering } from "../diagnose/diagnosis-text.ts";
import { withEarlier } from "./earlier-registration.ts";
import { writeLeft } from "./left-objects.ts";
import { openSpoke } from "./open-spoke.ts";
import type { Refusal } from "./reachable-server.ts";
import { readHubFacts } from "./read-hub.ts";
import { readSpokeFacts } from "./read-spoke.ts";
import { type RegisterFlags, type RegisterRequest, registerRequest } from "./register-request.ts";
import {
  chartValues,
  objectComment,
  objectName,
  objectsTable,
  type ShownObject,
  shownObjects,
} from "./registration-text.ts";
import { planRegistration, type Registration } from "./registration.ts";
import { idOf } from "./spoke-objects.ts";
import { type Left, writeRegistration } from "./write-registration.ts";

type Input = ActionInput<RegisterFlags>;

/** `kubectl knfleet register`. */
export async function runRegister(input: Input, signal: AbortSignal): Promise<ExitCode> {
  const { args, flags, options, terminal } = input;
  checkWriteFormat(flags);
  const asked = registerRequest(args, flags, options);
  await using hub = await openHub(flags, { env: terminal.env });
  await using spoke = await openSpoke(flags, {
    context: asked.context,
    kubeconfig: options.fromKubeconfig,
    env: terminal.env,
    next: [
      "Name the context of the cluster with --from-context. This lists the contexts:",
      "kubectl config get-contexts",
    ],
  });
  const { context } = loadKubeconfig(hub.source);
  const hubFacts = await readHubFacts(asked, { hub, flags, context }, signal);
  const request = withEarlier(asked, hubFacts.profile);
  // After the hub: so the older tokens, which are deleted at the end, include the one that the hub has now, also when another run minted it a moment ago.
  const spokeFacts = await readSpokeFacts(request, spoke, signal);
  const plan = planRegistration(
    request,
    { hub: hubFacts, spoke: spokeFacts },
    { now: terminal.now(), suffix: options.dryRun === true ? "" : randomBytes(3).toString("hex") },
  );
  if (!("reader" in plan)) return refuse(plan, input);
  const objects = shownObjects(plan, request);
  await show(objects, plan, input);
  if (options.dryRun === true) return exitCodes.fine;
  await askForAgreement(
    `Register the cluster of context "${request.context}" as ${idOf(request.profile)} on the hub of context "${context}".`,
    { yes: options.yes === true, input: flags.input },
    terminal,
  );
  const onLeft = (left: Left): void => {
    const contexts = { hub: context, spoke: request.context };
    const inOrder = { spoke: left.spoke.toReversed(), hub: left.hub.toReversed() };
    writeLeft(inOrder, { contexts, titleOf: madeText }, input);
  };
  const hubTimeoutMs = flags.hub.requestTimeoutMs;
  const clusters = { hub: hub.client, hubTimeoutMs, spoke, onLeft, signal };
  const { endsAt } = await writeRegistration(plan, request, clusters);
  if (!isTable(flags)) await printObjects(objects, input);
  const done = plan.keepsToken ? keptText : `is registered. ${tokenText(endsAt)}`;
  say(`ClusterProfile ${idOf(request.profile)} ${done}`, input);
  return walkTo({ profile: request.profile, plan }, input, signal);
}

/** Prints why nothing was written. */
export function refuse(
  refusals: readonly Refusal[],
  { flags, terminal }: Pick<Input, "flags" | "terminal">,
): ExitCode {
  for (const { why, next } of refusals) {
    const failure = withHubSteps({ error: why, causes: [], next }, commandsOf(flags));
    terminal.stderr.write(renderFailure(failure));
  }
  if (refusals.some(({ lacksValues }) => lacksValues)) terminal.stderr.write(`\n${chartValues}`);
  return exitCodes.failed;
}

/** Shows what will be written. With `--dry-run` that is the output of the command, otherwise what the user is asked about. */
async function show(
  objects: readonly ShownObject[],
  { warnings }: Registration,
  input: Input,
): Promise<void> {
  const { flags, options, terminal } = input;
  if (options.dryRun === true && !isTable(flags)) await printObjects(objects, input);
  else if (isTable(flags)) {
    terminal.stdout.write(tableText(objectsTable(objects), flags, terminal));
  } else if (!flags.quiet) {
    terminal.stderr.write(tableText(objectsTable(objects), { ...flags, output: "wide" }, terminal));
  }
  if (!flags.quiet) writeWarnings(warnings, terminal);
}

/** Prints warnings on standard error. */
export function writeWarnings(
  warnings: readonly string[],
  { stderr }: Pick<Input["terminal"], "stderr">,
): void {
  stderr.write(warnings.map((warning) => `warning: ${plainText(warning)}\n`).join(""));
}

/** Prints the objects for `-o name`, `yaml` and `json`. */
async function printObjects(
  objects: readonly ShownObject[],
  { flags, terminal }: Input,
): Promise<void> {
  if (flags.output === "name") {
    terminal.stdout.write(objects.map((object) => `${objectName(object)}\n`).join(""));
    return;
  }
  const items = objects.map(({ manifest }) => manifest);
  if (flags.output === "json") {
    documentOutput(terminal).write(renderJson({ apiVersion: "v1", kind: "List", items }));
    return;
  }
  const { yamlOfObject } = await import("../render/objects-text.ts");
  const documents = objects.map(
    (object) => `# ${objectComment(object)}\n${yamlOfObject(object.manifest)}`,
  );
  documentOutput(terminal).write(documents.join("---\n"));
}

function madeText(place: string): string {
  return `Made on ${place} and left there; the same command goes on with it. To take it away:`;
}

const keptText =
  "has the labels. Its token is as it was; the command without --labels makes a new one.";

function tokenText(endsAt: string | undefined): string {
  return endsAt === undefined
    ? "Its token stays; the same command makes a new one."
    : `Its token ends at ${endsAt}; the same command makes a new one before that.`;
}

/** Says a sentence on standard output in a table, else on standard error. */
function say(text: string, { flags, terminal }: Pick<Input, "flags" | "terminal">): void {
  if (isTable(flags)) terminal.stdout.write(`${plainText(text)}\n`);
  else if (!flags.quiet) terminal.stderr.write(`${plainText(text)}\n`);
}

/** Takes the walk of `diagnose` to the new profile, where this machine can, and says what to do next. */
async function walkTo(
  {
    profile,
    plan: { isReachedHere, server },
  }: Pick<RegisterRequest, "profile"> & { readonly plan: Registration },
  input: Input,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { flags, terminal } = input;
  const target = `clusterprofile/${idOf(profile)}`;
  const commands = commandsOf(flags);
  const apply = `Apply a KnativeServing or KnativeEventing with spec.clusterProfileRef: { namespace: ${profile.namespace}, name: ${profile.name} }.`;
  if (!isReachedHere) {
    say(
      `${server} is for the controller, not for this machine, so nothing was asked there.`,
      input,
    );
    const step = words("kubectl", "knfleet", "diagnose", target, "--from", "controller");
    note([stepLine(withHub(step, commands)), stepLine(apply)], input);
    return exitCodes.fine;
  }
  const options = {};
  const report = await walk({ ...input, args: [target], options }, {}, signal);
  const shown = withHubSteps(report, commands);
  if (isTable(flags)) {
    terminal.stdout.write("\n");
    await print(diagnosisRendering(shown, { flags, terminal }), flags, terminal);
  } else if (!flags.quiet) {
    const aside = { ...terminal, stdout: terminal.stderr };
    const plain = { ...flags, output: "table" as const };
    await print(diagnosisRendering(shown, { flags: plain, terminal: aside }), plain, aside);
  }
  const hops = report.items.flatMap((item) => item.hops);
  // What fails on the hub, such as a controller that starts just now, says nothing about the cluster.
  const isBroken = hops.some(
    ({ state, code }) => state === "FAIL" && code?.startsWith("KNF1") !== true,
  );
  if (isBroken) return exitCodes.unhealthy;
  note([stepLine(apply)], input);
  return exitCodes.fine;
}

function note(
  lines: readonly string[],
  { flags, terminal }: Pick<Input, "flags" | "terminal">,
): void {
  if (!flags.quiet) terminal.stderr.write(lines.map((line) => `${line}\n`).join(""));
}
