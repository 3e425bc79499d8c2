import { type KnfCode, knfCodes } from "../../../../api/knf/knf-codes.ts";
import {
  codes,
  processReasons,
  protectionReasons,
  reasons,
  type Retry,
} from "../../../../api/reasons.ts";
import { knfOf, reasonsOfKnf } from "../../output/knf-of.ts";
import { type OwnReason, ownReasons } from "../../output/own-reasons.ts";
import { logHint, notStartedHint } from "../../output/steps.ts";
import { causesOf, upstreamNotes } from "./causes.ts";
import { componentConditions, componentReasons, profileWords } from "./component-words.ts";
import { foreignWords } from "./kubernetes-words.ts";
import {
  availabilityMeanings,
  codeMeanings,
  protectionMeanings,
  reasonMeanings,
  workMeanings,
} from "./meanings.ts";
import {
  changeWords,
  deploymentStates,
  hubStates,
  leftovers,
  liveStates,
  migrationStates,
  planReasons,
  stageStates,
  stepStates,
  waitStates,
} from "./other-words.ts";
import {
  setClusterStates,
  setConditions,
  setPhases,
  setReasons,
  type SetWords,
} from "./set-words.ts";

/** What a reason or code is, from the catalogues of this program; unknown parts are null or empty. */
export interface Explanation {
  readonly name: string;
  /** `name` of a KNF code. */
  readonly title: string | null;
  readonly type: "Reason" | "Code" | "Finding" | "CommandLine" | "Condition" | "State";
  /** Program that reports it. */
  readonly setBy: string;
  readonly condition: string | null;
  /** The number of a reason; null for a number itself, and where there is none. */
  readonly code: KnfCode | null;
  /** Of a number: the reasons that have it. */
  readonly reasons: readonly string[];
  readonly meaning: string;
  readonly next: string | null;
  /** How the controller goes on by itself; null where it does not apply. */
  readonly retry: Retry | null;
  readonly causes: readonly { readonly cause: string; readonly command: string }[];
  /** The same word from the upstream operator. */
  readonly upstream: {
    readonly means: string;
    readonly not: readonly string[];
    readonly versions: string;
  } | null;
}

/** Every word that can be explained, in the catalogues' order, each once. */
export function explainable(): readonly string[] {
  return [...new Set(explanations().map(({ name }) => name))];
}

/** The explanations of a word, in any letter case; several when it is used for several things, none when nobody knows it. */
export function explain(word: string): readonly Explanation[] {
  const wanted = word.toLowerCase();
  return explanations().filter(
    ({ name, title }) => name.toLowerCase() === wanted || title?.toLowerCase() === wanted,
  );
}

function explanations(): readonly Explanation[] {
  return [
    ...conditionReasons(),
    ...protection(),
    ...availability(),
    ...atWork(),
    ...fineCodes(),
    ...findings(),
    ...commandLine(),
    ...ofSets(),
    ...ofComponents(),
    ...ofCommands(),
    ...upstreamOnly(),
  ];
}

const controller = "the controller, in a condition of the component, its Events and metrics";

const endOfProcess = "a program that ends with it, on standard error";
const ofProcess = new Set<string>(processReasons);

function conditionReasons(): readonly Explanation[] {
  const names = Object.entries(reasonMeanings);
  const entries: Readonly<Record<string, (typeof reasons)[keyof typeof reasons]>> = reasons;
  return names.flatMap(([name, meaning]) => {
    const entry = entries[name];
    if (entry === undefined) return [];
    const { condition, retry, next } = entry;
    const said = ofProcess.has(name)
      ? { setBy: endOfProcess }
      : { setBy: controller, condition, retry };
    return [explanationOf(name, { type: "Reason", ...said, meaning, next })];
  });
}

function protection(): readonly Explanation[] {
  const statuses: Readonly<Record<string, string>> = protectionReasons;
  return Object.entries(protectionMeanings).map(([name, [meaning, next]]) =>
    explanationOf(name, {
      type: "Reason",
      setBy: controller,
      condition: `AnchorProtected=${statuses[name] ?? ""}`,
      meaning,
      next,
    }),
  );
}

function availability(): readonly Explanation[] {
  return Object.entries(availabilityMeanings).map(([name, [meaning, next]]) =>
    explanationOf(name, {
      type: "Reason",
      setBy: `${controller}, and this program of a cluster`,
      condition: "DeploymentsAvailable",
      code: knfOf(name),
      meaning,
      next,
    }),
  );
}

function atWork(): readonly Explanation[] {
  return Object.entries(workMeanings).map(([name, meaning]) =>
    explanationOf(name, { type: "Reason", setBy: controller, meaning, next: "Wait." }),
  );
}

function fineCodes(): readonly Explanation[] {
  return codes.map((name) =>
    explanationOf(name, {
      type: "Code",
      setBy: "the controller, in brackets in front of a message, and this program",
      meaning: codeMeanings[name],
    }),
  );
}

function findings(): readonly Explanation[] {
  return Object.entries(knfCodes).map(([name, { name: title, meaning, next }]) => ({
    ...explanationOf(name, { type: "Finding", setBy: "kubectl knfleet diagnose", meaning, next }),
    title,
    code: null,
    reasons: reasonsOfKnf(name),
  }));
}

function commandLine(): readonly Explanation[] {
  return Object.entries(ownReasons).map(([name, meaning]) =>
    explanationOf(name, { type: "CommandLine", setBy: "kubectl knfleet", meaning: `${meaning}.` }),
  );
}

/** The words of fleet sets. A word that components have, too, has an explanation for each. */
function ofSets(): readonly Explanation[] {
  const setBy = "the controller, in the status or the Events of a fleet set";
  return [
    ...explained(setConditions, { setBy, type: "Condition" }),
    ...explained(setPhases, { setBy, condition: "Progressing, Complete and Ready" }),
    ...explained(setClusterStates, { setBy, condition: "Healthy" }),
    ...explained(setReasons, { setBy }),
    ...explained(stageStates, { setBy, type: "State" }),
  ];
}

function ofComponents(): readonly Explanation[] {
  return [
    ...explained(componentConditions, { setBy: controller, type: "Condition" }),
    ...explained(componentReasons, { setBy: "the controller, in a condition or an Event" }),
    ...explained(profileWords, { setBy: "discovery or register, in a ClusterProfile" }),
    ...explained(foreignWords, {
      setBy: "Kubernetes, in a condition, an Event or the state of a container",
    }),
  ];
}

/** The states that commands print. */
function ofCommands(): readonly Explanation[] {
  const lists: readonly (readonly [where: string, words: SetWords])[] = [
    ["status, in the column HUB", hubStates],
    ["status, in the column LIVE", liveStates],
    ["diagnose, check and tree", stepStates],
    ["rollout plan", planReasons],
    ["migrate", migrationStates],
    ["orphans", leftovers],
    ["wait, and the outcome of other commands", waitStates],
    ["diff, plan and rollout plan", changeWords],
    ["deployments and status", deploymentStates],
  ];
  return lists.flatMap(([where, words]) =>
    explained(words, { setBy: `kubectl knfleet ${where}`, type: "State" }),
  );
}

/** Words that have no number, and causes only in their meaning. */
function explained(
  words: SetWords,
  facts: Pick<Explanation, "setBy"> & Partial<Pick<Explanation, "type" | "condition">>,
): readonly Explanation[] {
  const alone = {
    type: "Reason",
    condition: null,
    code: null,
    causes: [],
    upstream: null,
  } as const;
  return Object.entries(words).map(([name, [meaning, next]]) =>
    explanationOf(name, { ...alone, meaning, next, ...facts }),
  );
}

/** Words that only the upstream operator writes. */
function upstreamOnly(): readonly Explanation[] {
  const known = [reasonMeanings, ownReasons].flatMap((list) => Object.keys(list));
  return Object.entries(upstreamNotes)
    .filter(([name]) => !known.includes(name))
    .map(([name, { means }]) =>
      explanationOf(name, { type: "Reason", setBy: "the upstream operator", meaning: means }),
    );
}

/** Steps for a reason without a KNF number. */
const ownSteps: Readonly<Partial<Record<string, string>>> = {
  Interrupted: "Run the command again, perhaps with a longer --timeout.",
  NotInBundle: "Gather again with that cluster among the selected ones.",
  Malformed:
    "Look at the object with kubectl get -o yaml, correct what the message names, and install the CRDs of knfleet, which let in no such object.",
  NotFound: "List what there is: kubectl knfleet status -A.",
  StreamLimit: "Select fewer installations or one --container, or raise --max-streams.",
  LogUnavailable: logHint,
  NotStarted: notStartedHint,
  Usage: "Correct what the message names; --help of the command has its flags and examples.",
  InternalError: "Report it, with the command line and what the same command prints with -v=6.",
} satisfies Partial<Record<OwnReason, string>>;

function explanationOf(
  name: string,
  facts: Pick<Explanation, "type" | "setBy" | "meaning"> & Partial<Explanation>,
): Explanation {
  const note =
    facts.type === "Reason" || name === "InternalError" ? upstreamNotes[name] : undefined;
  const code = knfOf(name);
  return {
    name,
    title: null,
    condition: null,
    code,
    reasons: [],
    next: ownSteps[name] ?? (code === null ? null : knfCodes[code].next),
    retry: null,
    causes: (causesOf[name] ?? []).map(([cause, command]) => ({ cause, command })),
    upstream:
      note === undefined ? null : { means: note.means, not: note.not, versions: note.since },
    ...facts,
  };
}
