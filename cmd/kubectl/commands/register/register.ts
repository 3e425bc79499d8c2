import { randomBytes } from "node:crypto";

import { loadKubeconfig } from "../../../../access/hub/kubeconfig.ts";
import type { NamespacedName } from "../../../../api/kubernetes.ts";
import { exitCodes } from "../../errors.ts";
import { diagnosisView } from "../../findings/diagnosis-text.ts";
import { walkFleet } from "../../findings/walk-fleet.ts";
import type { Flags } from "../../flags.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { hubSource } from "../../hub/open-hub.ts";
import type { Answer } from "../../main/report.ts";
import type { Talk } from "../../main/talk.ts";
import { checkWriteFormat, isTable, renderJson } from "../../output/output-format.ts";
import { stepLine, withHub, withHubSteps, words } from "../../output/steps.ts";
import { idOf } from "../../rights/spoke-objects.ts";
import { withEarlier } from "./earlier-registration.ts";
import { tellLeft } from "./left-objects.ts";
import { openSpoke } from "./open-spoke.ts";
import type { Refusal } from "./reachable-server.ts";
import { readHubFacts } from "./read-hub.ts";
import { readSpokeFacts } from "./read-spoke.ts";
import { type RegisterFlags, registerRequest } from "./register-request.ts";
import {
  chartValues,
  objectComment,
  objectName,
  objectsTable,
  type ShownObject,
  shownObjects,
} from "./registration-text.ts";
import { planRegistration, type Registration } from "./registration.ts";
import { type Left, writeRegistration } from "./write-registration.ts";

interface Options extends RegisterFlags {
  readonly dryRun: boolean;
  readonly yes: boolean;
}

/** Registers a cluster with the hub, or shows what that would write. Throws UsageError. */
export async function registerCluster(fleet: Fleet, options: Options, talk: Talk): Promise<Answer> {
  const { args, env, flags, signal } = fleet;
  checkWriteFormat(flags);
  const asked = registerRequest(args, flags, options);
  const { hub, hubTimeoutMs } = await fleet.access();
  const { fromKubeconfig: kubeconfig } = options;
  await using spoke = await openSpoke(flags, {
    context: asked.context,
    kubeconfig,
    env,
    next: [
      "Name the context of the cluster with --from-context. This lists the contexts:",
      "kubectl config get-contexts",
    ],
  });
  const { context } = loadKubeconfig(hubSource(flags, env));
  const hubFacts = await readHubFacts(asked, context, fleet);
  const request = withEarlier(asked, hubFacts.profile);
  // After the hub: so the older tokens, which are deleted at the end, include the one that the hub has now, also when another run minted it a moment ago.
  const spokeFacts = await readSpokeFacts(request, spoke, signal);
  const plan = planRegistration(
    request,
    { hub: hubFacts, spoke: spokeFacts },
    { now: fleet.now(), suffix: options.dryRun ? "" : randomBytes(3).toString("hex") },
  );
  if (!("reader" in plan)) return refuse(plan);
  const objects = shownObjects(plan, request);
  const objectsText = isTable(flags) ? "" : await textOf(objects, flags);
  // With --dry-run this is the output of the command, otherwise what the user is asked about.
  if (options.dryRun && !isTable(flags)) talk.print(objectsText);
  else talk.show(objectsTable(objects));
  talk.note(...plan.warnings.map((warning) => `warning: ${warning}`));
  if (options.dryRun) return {};
  await talk.ask(
    `Register the cluster of context "${request.context}" as ${idOf(request.profile)} on the hub of context "${context}".`,
    options.yes,
  );
  const onLeft = (left: Left): void => {
    const inOrder = { spoke: left.spoke.toReversed(), hub: left.hub.toReversed() };
    const ofHub = flags.hub.kubeconfig;
    const ways = {
      hub: { context, kubeconfig: ofHub },
      spoke: { context: request.context, kubeconfig: kubeconfig ?? ofHub },
    };
    tellLeft(inOrder, madeText, ways, talk);
  };
  const clusters = { hub, hubTimeoutMs, spoke, onLeft, signal };
  const { endsAt } = await writeRegistration(plan, request, clusters);
  talk.print(objectsText);
  const done = plan.keepsToken ? keptText : `is registered. ${tokenText(endsAt)}`;
  talk.say(`ClusterProfile ${idOf(request.profile)} ${done}`);
  return walkTo(request.profile, plan, fleet, talk);
}

/** An answer that says why nothing was written. */
export function refuse(refusals: readonly Refusal[]): Answer {
  return {
    failures: refusals,
    ...(refusals.some(({ lacksValues }) => lacksValues) ? { appendix: `\n${chartValues}` } : {}),
    exitCode: exitCodes.failed,
  };
}

/** The objects for `-o name`, `yaml` and `json`. */
async function textOf(objects: readonly ShownObject[], { output }: Flags): Promise<string> {
  if (output === "name") return objects.map((object) => `${objectName(object)}\n`).join("");
  const items = objects.map(({ manifest }) => manifest);
  if (output === "json") return renderJson({ apiVersion: "v1", kind: "List", items });
  const { yamlOfObject } = await import("../../compare/objects-text.ts");
  return objects
    .map((object) => `# ${objectComment(object)}\n${yamlOfObject(object.manifest)}`)
    .join("---\n");
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

/** Takes the walk of `diagnose` to the new profile, where this machine can, and says what to do next. */
async function walkTo(
  profile: NamespacedName,
  { isReachedHere, server }: Registration,
  fleet: Fleet,
  talk: Talk,
): Promise<Answer> {
  const { commands, flags } = fleet;
  const target = `clusterprofile/${idOf(profile)}`;
  const apply = stepLine(
    `Apply a KnativeServing or KnativeEventing with spec.clusterProfileRef: { namespace: ${profile.namespace}, name: ${profile.name} }.`,
  );
  if (!isReachedHere) {
    talk.say(`${server} is for the controller, not for this machine, so nothing was asked there.`);
    const step = words("kubectl", "knfleet", "diagnose", target, "--from", "controller");
    return { notes: [stepLine(withHub(step, commands)), apply] };
  }
  await using walked = fleet.with({ args: [target] });
  const report = await walkFleet(walked, {});
  if (isTable(flags)) talk.write("\n");
  await talk.report(diagnosisView(withHubSteps(report, commands), commands));
  const hops = report.items.flatMap((item) => item.hops);
  // What fails on the hub, such as a controller that starts just now, says nothing about the cluster.
  const isBroken = hops.some(
    ({ state, code }) => state === "FAIL" && code?.startsWith("KNF1") !== true,
  );
  return isBroken ? { exitCode: exitCodes.unhealthy } : { notes: [apply] };
}
