import { FleetError } from "../../api/errors.ts";
import { type AccessCase, listOf } from "./access-cases.ts";
import type { RequestOutcome } from "./access-run.ts";
import type { RunResult } from "./access-stage.ts";

interface Facts {
  readonly one: AccessCase;
  readonly result: RunResult;
  readonly outcomes: readonly RequestOutcome[];
  readonly match: RegExpExecArray;
}

type Judge = (facts: Facts) => boolean;

const allAnswered: Judge = ({ outcomes }) =>
  outcomes.length > 0 && outcomes.every(({ status }) => status === 200);

const hasCode: Judge = ({ result, outcomes, match }) =>
  result.refused === undefined
    ? outcomes.every(({ error }) => error instanceof FleetError && error.code === match[0])
    : result.refused.code === match[0] && result.pluginRuns === 0;

const runs =
  (least: number, most: number): Judge =>
  (facts) =>
    allAnswered(facts) && facts.result.pluginRuns >= least && facts.result.pluginRuns <= most;

/** The first whose words are in the text decides. */
const judges: readonly (readonly [RegExp, Judge])[] = [
  [/\b(?:Extension|Endpoint|Provider|PluginOutput)Invalid\b/, hasCode],
  [/killed above 1 MiB/, (facts) => hasCode({ ...facts, match: codeMatch("PluginOutputInvalid") })],
  [/second run before the expiry/, runs(2, 3)],
  [/at most one run per minimum interval/, runs(1, 1)],
  [/repeated once with T2|one re-run in total|repeated with c2|long response finishes/, runs(2, 2)],
  [
    /refreshed by NotAfter/,
    ({ result, outcomes }) =>
      result.pluginRuns > 1 || outcomes.every(({ error }) => error !== undefined),
  ],
  [
    /one re-run and one repeat, then held back/,
    ({ result, outcomes }) => result.pluginRuns === 2 && outcomes.every(isRejected),
  ],
  [
    /one run, the error is shared/,
    ({ result, outcomes }) =>
      result.pluginRuns === 1 && outcomes.every(({ error }) => error !== undefined),
  ],
  [/^one run$/, runs(1, 1)],
  [/runs spaced by back-off/, ({ result }) => result.steps.every(({ heldBack }) => heldBack)],
  [
    /not followed with the token/,
    ({ result, outcomes }) =>
      result.elsewhere.length === 0 && outcomes.every(({ error }) => error !== undefined),
  ],
  [
    /hint shown/,
    ({ one, outcomes }) =>
      outcomes.every(({ error }) => error instanceof Error && error.message.includes(hintOf(one))),
  ],
  [
    /^trimmed/,
    (facts) =>
      allAnswered(facts) &&
      facts.result.requests.every(({ authorization }) => authorization === "Bearer T1"),
  ],
  [
    /^not found$/,
    ({ result, outcomes }) =>
      result.pluginRuns === 0 && outcomes.every(({ error }) => error !== undefined),
  ],
  [/that file runs|does not wait for the child|^works$/, allAnswered],
  [/not reachable/, ({ result }) => result.pluginRuns === 1],
];

/** Whether a case came to what is wanted in place of its recording; undefined when the recording is what is wanted. */
export function wantedRun(one: AccessCase, result: RunResult): boolean | undefined {
  const { text = "", kind = "" } = one.wanted ?? {};
  if (text === "" || kind !== "instead") return undefined;
  const outcomes = result.steps.flatMap(({ requests }) => requests);
  for (const [words, holds] of judges) {
    const match = words.exec(text);
    if (match !== null) return holds({ one, result, outcomes, match });
  }
  return undefined;
}

function codeMatch(code: string): RegExpExecArray {
  const match = /.+/.exec(code);
  if (match === null) throw new Error("A code is not empty");
  return match;
}

function isRejected({ error }: RequestOutcome): boolean {
  return error instanceof FleetError && error.code === "CredentialRejected";
}

function hintOf({ input }: AccessCase): string {
  const texts = JSON.stringify([input["restConfigOverride"], input["providerFile"]]);
  return (
    /installHint\\*":\s*\\*"([^"\\]+)/.exec(texts)?.[1] ?? String(listOf(input["steps"]).length)
  );
}
