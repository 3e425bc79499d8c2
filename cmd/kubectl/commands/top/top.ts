import type { Readable } from "node:stream";

import { Follower, withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { CommandEntry } from "../../action.ts";
import { type ExitCode, exitCodes, UsageError } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import { type FleetFeed, openFleetFeed } from "../../fleet/fleet-feed.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { statusExitCode } from "../../fleet/status.ts";
import type { Answer } from "../../main/report.ts";
import type { Talk } from "../../main/talk.ts";
import { wantsAscii } from "../../output/characters.ts";
import { painterFor, type Terminal, wantsColour } from "../../output/terminal.ts";
import type { Selection } from "../../selection/selection.ts";
import { paneReader } from "./pane-readers.ts";
import type { Line } from "./screen-text.ts";
import type { Size } from "./top-frame.ts";
import { type ReadPane, TopModel } from "./top-model.ts";

interface TopFlags {
  readonly once: boolean;
}

/** Shows the screen until it is closed, or prints it once. Throws UsageError. */
export async function showTop(
  commands: readonly CommandEntry[],
  given: Fleet,
  { once }: TopFlags,
  talk: Talk,
): Promise<Answer> {
  const { flags, signal } = given;
  const { terminal } = given.asInput({});
  checkFlags(flags);
  const screen = once ? undefined : screenOf(terminal, flags);
  // Without --timeout the screen stays until it is closed.
  const isLimited = once || flags.timeoutGiven;
  using end = new Follower(signal);
  const until = isLimited ? withTimeout(systemClock, flags.timeoutMs, end.signal) : end.signal;
  const shown = once ? flags : quietFlags(flags, terminal);
  await using fleet = given.with({ flags: shown, signal: until });
  let model: TopModel | undefined;
  // The drawing code is loaded while the hub answers.
  const drawing = screen === undefined ? undefined : import("./run-screen.ts");
  const feed = await openFleetFeed(fleet, { watch: !once, onChange: () => model?.changed() });
  const readPane = paneReader(commands, fleet);
  using _model = (model = modelOf(fleet, await fleet.selection(), { feed, readPane }));
  try {
    if (screen === undefined || drawing === undefined) {
      return { exitCode: await printOnce(fleet, { feed, model }, talk) };
    }
    const wish = await (await drawing).runScreen(model, screen, until);
    return { exitCode: wish === "interrupt" ? exitCodes.interrupted : exitCodes.fine };
  } finally {
    end.abort();
  }
}

function checkFlags({ outputGiven, sortBy, output }: Flags): void {
  const elsewhere = ["kubectl knfleet status -A -w"];
  if (outputGiven) throw new UsageError(`top shows a screen: there is no -o ${output}`, elsewhere);
  if (sortBy !== undefined)
    throw new UsageError("top has no --sort-by: the key s sorts", elsewhere);
}

/** The terminal when it is interactive. Throws UsageError when it is not. */
function screenOf(terminal: Terminal, { input, color }: Flags) {
  const { stdout, screen, env } = terminal;
  const isScreen = stdout.isTTY === true && env["TERM"] !== "dumb";
  const stdin = isScreen && input ? terminal.stdin : undefined;
  if (screen === undefined || !isScreen || !isKeyboard(stdin)) {
    const why = input ? "there is none, or it is dumb" : "--no-input says that nobody types";
    throw new UsageError(`top needs a terminal with a keyboard: ${why}`, [
      "kubectl knfleet status -A -w",
      "kubectl knfleet top -A --once",
    ]);
  }
  return { stdin, stdout: screen, colour: wantsColour(color, env, true) };
}

function isKeyboard(stdin: Readable | undefined): stdin is Readable {
  return stdin !== undefined && "isTTY" in stdin && stdin.isTTY === true;
}

/** Nothing else may write to the terminal while the screen is shown. */
function quietFlags(flags: Flags, { stderr }: Terminal): Flags {
  const { onNote: _, onRequest, ...others } = flags;
  const isElsewhere = stderr.isTTY !== true;
  return {
    ...others,
    quiet: true,
    ...(isElsewhere && onRequest !== undefined ? { onRequest } : {}),
  };
}

function modelOf(
  fleet: Fleet,
  selection: Selection,
  sources: { readonly feed: FleetFeed; readonly readPane: ReadPane },
): TopModel {
  const { commands, env, flags, now } = fleet;
  return new TopModel({
    ...sources,
    now,
    commands,
    scope: scopeOf(selection),
    namespace: selection.namespace,
    recordedAt: flags.recorded?.recordedAt,
    absoluteTime: flags.absoluteTime,
    ascii: wantsAscii(env),
  });
}

function scopeOf({
  namespace,
  labelSelector,
  cluster,
  on,
  failed,
  reason,
  names,
  kinds,
}: Selection): string {
  return [
    namespace === undefined ? "all namespaces" : `namespace ${namespace}`,
    ...(kinds.length === 1 ? kinds : []),
    ...names.map(({ name }) => name),
    ...(labelSelector === undefined ? [] : [`-l ${labelSelector}`]),
    ...(cluster === undefined ? [] : [`--cluster ${cluster}`]),
    ...(on === undefined ? [] : [`--on ${on}`]),
    ...(failed === true ? ["--failed"] : []),
    ...(reason === undefined ? [] : [`--reason ${reason}`]),
  ].join(", ");
}

async function printOnce(
  fleet: Fleet,
  { feed, model }: { readonly feed: FleetFeed; readonly model: TopModel },
  talk: Talk,
): Promise<ExitCode> {
  await feed.readOnce;
  const { terminal } = fleet.asInput({});
  const paint = painterFor(terminal, fleet.flags.color);
  const textOf = (line: Line): string =>
    line
      .map(({ text, tone }) => (tone === undefined ? text : paint(text, tone)))
      .join("")
      .trimEnd();
  const lines = model.frame(sizeOf(terminal)).map((line) => `${textOf(line)}\n`);
  talk.write(lines.join(""));
  return statusExitCode(feed.state().report, "error");
}

function sizeOf({ stdout, env }: Terminal): Size {
  const { columns = 80 } = stdout;
  return { columns: countOf(env["COLUMNS"]) ?? columns, rows: countOf(env["LINES"]) ?? 24 };
}

function countOf(text: string | undefined): number | undefined {
  return /^[1-9]\d{0,3}$/.test(text ?? "") ? Number(text) : undefined;
}
