import { print, type ActionInput } from "../../action.ts";
import { clientVersion } from "../../client-version.ts";
import { commandsOf, withHubSteps } from "../../commands.ts";
import { openRendering } from "../../compare/open-rendering.ts";
import type { ExitCode } from "../../exit-codes.ts";
import { oneOf } from "../../flags.ts";
import { sortedBy } from "../../output/sorted.ts";
import { stepLine, wrappedStep } from "../../output/step-lines.ts";
import { widthOf } from "../../output/wrapped.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { openReading } from "../../spokes/open-reading.ts";
import { contextOf } from "../diagnose/diagnose-action.ts";
import { openVantage } from "../diagnose/open-vantage.ts";
import { componentReader } from "../render/render-files.ts";
import { usageInstead } from "../render/usage-instead.ts";
import type { CheckFlags } from "./check-flags.ts";
import type { CheckReport } from "./check-item.ts";
import { checkTable, junitText, shortText } from "./check-text.ts";
import { check, checkExitCode } from "./check.ts";
import { radarOf } from "./expiry.ts";

/** `kubectl knfleet check`. */
export async function runCheck(
  input: ActionInput<CheckFlags>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  const failOn = oneOf(options.failOn ?? "error", ["error", "warning", "never"], "--fail-on");
  const report =
    flags.recorded === undefined
      ? await liveCheck(input, signal)
      : await (await import("../../bundle/recorded-check.ts")).recordedCheck(input, signal);
  const commands = commandsOf({ ...flags, bundle: undefined });
  const document = withHubSteps(sortedBy(report, flags.sortBy), commands);
  if (flags.output === "short") terminal.stdout.write(shortText(document));
  else if (flags.output === "junit") terminal.stdout.write(junitText(document));
  else {
    const table = (wide: boolean) => checkTable(document, wide);
    await print(
      { document, table, notes: notesOf(document, widthOf(terminal.stderr)) },
      flags,
      terminal,
    );
  }
  return checkExitCode(report, failOn);
}

async function liveCheck(
  input: ActionInput<CheckFlags>,
  signal: AbortSignal,
): Promise<CheckReport> {
  const { flags, options, terminal } = input;
  const { env, now } = terminal;
  const radar = radarOf(options.warnWithin, now().getTime());
  await using access = await openClusterAccess(flags, { env, spokes: true }, signal);
  await using here = await openVantage(flags, { env });
  const documents = await documentsOf(input, access.namespace, signal);
  await using settings =
    documents === undefined ? undefined : await openRendering(input, access, signal);
  const { limits, end } = openReading(flags, terminal);
  const place = flags.namespace === null ? { namespace: undefined } : {};
  return await check(
    { documents, flags: { ...flags, ...place }, cliVersion: clientVersion },
    { context: contextOf(input, here), access, limits, radar, settings },
    signal,
  ).finally(end);
}

async function documentsOf(input: ActionInput<CheckFlags>, namespace: string, signal: AbortSignal) {
  const { filename } = input.options;
  if (filename === undefined) return undefined;
  const { components } = await usageInstead(
    componentReader(input, signal, namespace)(filename, "-f"),
  );
  return components;
}

const shownSteps = 5;

function notesOf({ items, summary }: CheckReport, width: number | undefined): readonly string[] {
  const { ok, warnings, errors, skipped } = summary;
  const wrong = [
    ...items.filter(({ state }) => state === "FAIL"),
    ...items.filter(({ state }) => state === "WARN"),
  ].filter(({ next }) => next.length > 0);
  const all = wrong.map(({ check: id, next }) =>
    next.slice(0, 2).map((step) => stepLine(step, id)),
  );
  const steps = [...new Map(all.map((lines) => [lines.join("\n"), lines])).values()]
    .slice(0, shownSteps)
    .flat();
  return [
    `${ok} OK, ${warnings} WARN, ${errors} FAIL, ${skipped} SKIPPED. Nothing was changed.`,
    ...steps.flatMap((line) => wrappedStep(line, width)),
  ];
}
