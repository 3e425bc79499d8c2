import { isDeepStrictEqual } from "node:util";

import { parseExactJson } from "../../access/json.ts";
import { FleetError } from "../../api/errors.ts";
import { type AccessCase, fieldsOf, listOf, textOf } from "./access-cases.ts";
import { sortedKeys } from "./access-resolution.ts";
import type { RequestOutcome, StepOutcome } from "./access-run.ts";
import { runAccessCase, type RunResult } from "./access-stage.ts";
import type { Difference } from "./compare-render.ts";
import type { RecordedIdentities } from "./recorded-identities.ts";
import { runRefusalRule, unreachableSetting } from "./run-differences.ts";
import { wantedRun } from "./wanted-run.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Everything in which running a case differs from the recording, or from what is wanted in place of it. */
export async function runDifferences(
  one: AccessCase,
  identities: RecordedIdentities,
  signal: AbortSignal,
): Promise<readonly Difference[]> {
  const setting = unreachableSetting(one);
  if (setting !== undefined) return [{ defect: setting, text: "cannot be said here" }];
  const result = await runAccessCase(one, identities, signal);
  const own = ownRule(one, result);
  if (own !== undefined) return [{ defect: own, text: "a rule of ours" }];
  const wanted = wantedRun(one, result);
  if (wanted !== undefined) {
    const text = `Wanted: ${one.wanted?.text ?? ""}; ${shownRun(result)}`;
    return wanted ? [] : [wrong(text)];
  }
  const relaxed = result.relaxed.map((defect) => ({ defect, text: "a rule of ours" }));
  if (result.refused !== undefined) return [...relaxed, ...refusalDifferences(one, result.refused)];
  if ("clientBuildError" in one.recorded) {
    const isError = result.steps.every(({ requests }) =>
      requests.every(({ error }) => error !== undefined),
    );
    return isError ? relaxed : [wrong("A client is built")];
  }
  return [
    ...relaxed,
    ...stepDifferences(one, result),
    ...inputDifferences(one, result),
    ...requestDifferences(one, result),
  ];
}

/** The rule of ours that stands against what is wanted; undefined when there is none. */
function ownRule(
  { wanted }: AccessCase,
  { refused, steps, proxied }: RunResult,
): string | undefined {
  const { text = "" } = wanted ?? {};
  const outcomes = steps.flatMap(({ requests }) => requests);
  const isGood = refused === undefined && outcomes.every(({ status }) => status === 200);
  // A proxy is what the profile says, not what our process happens to have.
  if (text === "through the proxy" && proxied === 0 && isGood) return "T-15";
  // Two profiles share nothing, however alike they are.
  return text === "one pool" && isGood ? "T-45" : undefined;
}

function refusalDifferences(one: AccessCase, error: FleetError): readonly Difference[] {
  const steps = listOf(one.recorded["steps"]).map(fieldsOf);
  const isError =
    "clientBuildError" in one.recorded ||
    (steps.length > 0 && steps.every((step) => "error" in step));
  if (isError) return [];
  return [{ defect: runRefusalRule(one, error), text: `Is refused: ${error.message}` }];
}

function stepDifferences(one: AccessCase, { steps, pluginRuns }: RunResult): readonly Difference[] {
  const recorded = listOf(one.recorded["steps"]).map(fieldsOf);
  const requests = steps.flatMap(({ requests: of, step }) =>
    of.map((outcome) => ({ outcome, step })),
  );
  const single = recorded.filter((step) => "status" in step || "error" in step);
  const alone = requests.filter(
    ({ step }) => step["parallel"] !== true && step["background"] !== true && !("builds" in step),
  );
  const found = single.flatMap((step, index) =>
    outcomeDifferences(step, alone[index]?.outcome, index),
  );
  const runs = Number(one.recorded["pluginRuns"] ?? 0);
  const ran = pluginRuns;
  const hasFailed = alone.some(({ outcome }) => outcome.error !== undefined);
  return [
    ...found,
    ...parallelDifferences(recorded, steps),
    ...(steps.every(({ heldBack }) => heldBack)
      ? []
      : [wrong("A plugin ran again right after it failed")]),
    ...(hasFailed && single.length > 1 && runs > 1 ? [{ defect: "X34", text: "held back" }] : []),
    ...(ran === runs ? [] : [runsDifference(ran, runs, one)]),
  ];
}

function runsDifference(ran: number, runs: number, one: AccessCase): Difference {
  const text = `The plugin ran ${ran} times, not ${runs}`;
  const two = listOf(one.input["profiles"]).length > 1;
  // Two profiles never share a credential, however alike they are.
  if (two && ran === 2 && runs === 1) return { defect: "T-45", text };
  return wrong(text);
}

function outcomeDifferences(
  recorded: Fields,
  outcome: RequestOutcome | undefined,
  index: number,
): readonly Difference[] {
  const expected = recorded["status"];
  const name = `Request ${index}`;
  if (outcome === undefined) return [wrong(`${name} was not made`)];
  const { status, error } = outcome;
  if (expected === undefined) {
    return error === undefined ? [wrong(`${name} was answered ${status}`)] : [];
  }
  if (expected === status) return [];
  const isRejected = error instanceof FleetError && error.code === "CredentialRejected";
  // What the reference hands to the caller is repeated here with a new credential.
  if (expected === 401 && (status === 200 || isRejected))
    return [{ defect: "C05", text: "repeated" }];
  const actual = status ?? (error instanceof Error ? error.message : String(error));
  return [wrong(`${name} came to ${actual}, not ${JSON.stringify(expected)}`)];
}

function parallelDifferences(
  recorded: readonly Fields[],
  steps: readonly StepOutcome[],
): readonly Difference[] {
  const expected = recorded
    .filter((step) => "outcomes" in step)
    .map((step) => fieldsOf(step["outcomes"]));
  const actual = steps.filter(({ step }) => step["parallel"] === true);
  return expected.flatMap((outcomes, index) => {
    const requests = actual[index]?.requests ?? [];
    const good = requests.filter(({ status }) => status === 200).length;
    const wantedGood = Number(outcomes["200"] ?? 0);
    return good === wantedGood
      ? []
      : [wrong(`${good} requests were answered 200, not ${wantedGood}`)];
  });
}

/** What the plugin was given, by run. */
function inputDifferences(one: AccessCase, { inputs, root }: RunResult): readonly Difference[] {
  const recorded = listOf(one.recorded["pluginInputs"]).map(fieldsOf);
  return recorded.flatMap((expected, index) => {
    const actual = inputs[index];
    if (actual === undefined) return [wrong(`There is no run ${index}`)];
    const text = actual.environ.findLast((entry) => entry.startsWith("KUBERNETES_EXEC_INFO="));
    const info = text?.slice("KUBERNETES_EXEC_INFO=".length) ?? "";
    const given = fieldsOf(fieldsOf(expected["environment"])["valuesOfAddedAndChanged"]);
    // Recorded through a script that was there for the occasion.
    const isWrapped = expected["program"] === "/p/impl";
    const pairs = [
      ...(isWrapped
        ? []
        : [
            ["args", actual.args, listOf(expected["args"])],
            ["the program", actual.program.replace(root, ""), expected["program"]],
          ]),
      ["stdin", actual.stdin, expected["stdin"]],
      ["the input", shownInfo(info), shownInfo(expected["execInfoText"])],
      ...Object.entries(isWrapped ? {} : given)
        // Nobody can read a variable without a name; it is left out.
        .filter(([name]) => name !== "")
        .map(([name, value]) => [
          `the variable ${name}`,
          lastOf(actual.environ, name)?.replaceAll(root, ""),
          value,
        ]),
    ];
    const missing = listOf(fieldsOf(expected["environment"])["missingFromParent"]).length === 0;
    const isFiltered = missing && lastOf(actual.environ, "PARENT_ONLY") === undefined;
    return [
      ...pairs.flatMap(([name, is, should]) =>
        isDeepStrictEqual(is, should)
          ? []
          : [wrong(`${String(name)} is ${JSON.stringify(is)}, not ${JSON.stringify(should)}`)],
      ),
      ...(isFiltered
        ? [{ defect: "T-41", text: "the parent's variables are not all passed on" }]
        : []),
    ];
  });
}

function lastOf(environ: readonly string[], name: string): string | undefined {
  return environ.findLast((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1);
}

// Order of keys is of no meaning, and long texts are cut in the recordings.
function shownInfo(text: unknown): string {
  const plain = textOf(text).replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:PORT");
  if (plain.length > 100_000 || plain.includes("…")) return "long";
  return `${JSON.stringify(sortedKeys(parseExactJson(plain || "null")))}${plain.endsWith("\n") ? " and a line break" : ""}`;
}

function requestDifferences(one: AccessCase, { requests }: RunResult): readonly Difference[] {
  const recorded = listOf(one.recorded["serverRequests"]).map(fieldsOf);
  if (recorded.length === 0 || !Array.isArray(one.recorded["serverRequests"])) return [];
  // What is answered 401 is repeated here, and seen by the server once more.
  const isRepeated = listOf(one.recorded["steps"]).some((step) => fieldsOf(step)["status"] === 401);
  if (isRepeated) return [];
  const expected = recorded.map(shownRequest);
  const actual = requests.map((request) => shownRequest({ ...request }));
  return isDeepStrictEqual(expected, actual) || expected.some((text) => text.includes("PORT"))
    ? []
    : [wrong(`The server got ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`)];
}

function shownRequest({ path, authorization, clientCertificate }: Fields): string {
  return [path, authorization, clientCertificate].map((value) => cut(textOf(value))).join(" ");
}

// As the recordings cut long texts.
function cut(text: string): string {
  return text.length > 1_000 ? `${text.slice(0, 20)}… (${text.length} characters)` : text;
}

function shownRun({ refused, steps, pluginRuns }: RunResult): string {
  const outcomes = steps.flatMap(({ requests }) =>
    requests.map(
      ({ status, error }) => status ?? (error instanceof Error ? error.message : "an error"),
    ),
  );
  return refused?.message ?? `${pluginRuns} runs, ${outcomes.slice(0, 5).join(", ")}`;
}

function wrong(text: string): Difference {
  return { defect: undefined, text };
}
