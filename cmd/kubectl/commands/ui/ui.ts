import { once } from "node:events";
import { access as accessFile, constants, lstat } from "node:fs/promises";
import { dirname } from "node:path";

import { Follower, withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { ActionInput, CommandEntry } from "../../action.ts";
import { type ExitCode, exitCodes, messageOf, UsageError } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import { type FleetFeed, openFleetFeed } from "../../fleet/fleet-feed.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { Answer } from "../../main/report.ts";
import { writePrivateFile } from "../../output/private-file.ts";
import { commandsOf } from "../../output/steps.ts";
import { PageFleet } from "../../page/fleet-state.ts";
import { statusHtml } from "../../page/status-html.ts";
import { openBrowser } from "./open-browser.ts";
import { servePage } from "./page-server.ts";
import { writtenDocuments } from "./written-documents.ts";

interface UiFlags {
  readonly live: boolean;
  readonly port?: string;
  readonly open: boolean;
  readonly once?: string;
}

type Input = ActionInput<UiFlags>;

/** Serves the page until the signal aborts or --timeout is over, or writes it with `--once`. Throws UsageError. */
export async function showPage(
  commands: readonly CommandEntry[],
  given: Fleet,
  options: UiFlags,
): Promise<Answer> {
  const { flags, signal } = given;
  const input = given.asInput(options);
  const port = checkedPort(input);
  const { once: file } = options;
  // To read the fleet for a file takes time, and would be for nothing.
  if (file !== undefined) await checkFolderOf(file);
  const isLimited = file !== undefined || flags.timeoutGiven;
  await using ending = new AsyncDisposableStack();
  const end = ending.use(new Follower(signal));
  const until = isLimited ? withTimeout(systemClock, flags.timeoutMs, end.signal) : end.signal;
  const fleet = ending.use(given.with({ signal: until }));
  ending.defer(() => end.abort());
  const page = ending.use(new PageFleet(fromOf(flags)));
  const watching = { watch: file === undefined, onChange: () => page.changed() };
  const feed = await openFleetFeed(fleet, watching);
  page.follow(feed);
  if (file !== undefined) return { exitCode: await writeOnce(file, fleet, feed) };
  const access = await fleet.lastingAccess();
  const served = { commands, port, input, access, fleet: page };
  const server = ending.use(await servePage(served, until));
  await announce(server.url, input, ending);
  if (!until.aborted) await once(until, "abort");
  return { exitCode: signal.aborted ? exitCodes.interrupted : exitCodes.fine };
}

/** The port that is asked for; 0 for any. Throws UsageError for flags that the page cannot obey. */
function checkedPort({ flags, options }: Pick<Input, "flags" | "options">): number {
  if (flags.outputGiven) {
    throw new UsageError(`ui shows a page: there is no -o ${flags.output}`, [
      "kubectl knfleet status -A -o html",
    ]);
  }
  if (flags.sortBy !== undefined) throw new UsageError("ui has no --sort-by: the page sorts");
  const { port = "0" } = options;
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    throw new UsageError(`Invalid value "${port}" for --port: want 1 to 65535`);
  }
  return Number(port);
}

async function writeOnce(path: string, fleet: Fleet, feed: FleetFeed): Promise<ExitCode> {
  await feed.readOnce;
  const documents = await writtenDocuments(fleet, feed);
  const { report } = feed.state();
  const text = statusHtml(report, { ...fromOf(fleet.flags), documents });
  // The page has what only its reader may see.
  await writePrivateFile(path, text).catch(unwritable(path));
  fleet.asInput({}).terminal.stderr.write(`Wrote ${path}\n`);
  return report.complete ? exitCodes.fine : exitCodes.incomplete;
}

async function checkFolderOf(path: string): Promise<void> {
  if (path === "") throw new UsageError("Name a file with --once");
  const found = await lstat(path).catch(() => undefined);
  // The page would take the place of a device, a pipe or a link.
  const isOther = found !== undefined && !found.isFile() && !found.isDirectory();
  if (isOther) throw new UsageError(`The file ${path} cannot be written: it is no plain file`);
  await accessFile(dirname(path), constants.W_OK).catch(unwritable(path));
}

function unwritable(path: string): (error: unknown) => never {
  return (error) => {
    throw new UsageError(`The file ${path} cannot be written: ${messageOf(error)}`);
  };
}

/** What the page says besides the fleet. */
function fromOf(flags: Flags) {
  return { recordedAt: flags.recorded?.recordedAt, ...commandsOf(flags) };
}

/** Prints the address, and opens the browser unless there is none. */
async function announce(
  url: string,
  { flags, options, terminal }: Input,
  ending: AsyncDisposableStack,
): Promise<void> {
  terminal.stdout.write(`${url}\n`);
  if (options.open) ending.use(await openBrowser(url, terminal.env));
  if (!flags.quiet)
    terminal.stderr.write("The address opens the page, once in each tab. Ctrl-C ends it.\n");
}
