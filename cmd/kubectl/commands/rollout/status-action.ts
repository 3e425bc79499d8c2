import { stripVTControlCharacters } from "node:util";

import { isAborted, withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { type FleetSet, fleetSetApiVersion } from "../../../../api/fleet-set.ts";
import { plainText } from "../../../../api/foreign-text.ts";
import { knownResource } from "../../../../api/resources.ts";
import { type ActionInput, print, tableText, timesOf } from "../../action.ts";
import { clientVersion } from "../../client-version.ts";
import { type ExitCode, exitCodes, UsageError } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import { type ControllerView, readControllerView } from "../../hub/controller-view.ts";
import { readSet } from "../../hub/fleet-sets.ts";
import { objectChanges } from "../../hub/hub-changes.ts";
import { refusedStatusOf } from "../../hub/warnings.ts";
import { inAscii, wantsAscii, widthOf } from "../../output/characters.ts";
import { controllerLines } from "../../output/notes.ts";
import { isDocument, jsonLine } from "../../output/output-format.ts";
import { stampAt, troubleOf, Troubles } from "../../output/report.ts";
import { commandsOf, stepLine, withHub } from "../../output/steps.ts";
import { painterFor } from "../../output/terminal.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { namedSet, placedSetOf } from "./named-set.ts";
import {
  type RolloutItem,
  rolloutItemOf,
  type RolloutOutcome,
  rolloutStatusOf,
} from "./rollout-item.ts";
import { rolloutSteps } from "./rollout-steps.ts";
import { footerText, headingText, rolloutLine, stagesTable, type Style } from "./rollout-text.ts";

/** Flags of `rollout status` alone. */
interface StatusFlags {
  readonly watch?: boolean;
}

type Input = ActionInput<StatusFlags>;

const codes: Readonly<Record<RolloutOutcome, ExitCode>> = {
  complete: exitCodes.fine,
  failed: exitCodes.unhealthy,
  incomplete: exitCodes.incomplete,
};
const pollMs = 10_000;

/** `kubectl knfleet rollout status`. */
export async function runRolloutStatus(input: Input, signal: AbortSignal): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  if (options.watch === true) checkWatched(flags);
  await using access = await openClusterAccess(flags, { env: terminal.env, spokes: false }, signal);
  const set = await namedSet(input, { access, kind: "RolloutStatus" }, signal);
  if (typeof set === "number") return set;
  const controller = new ShownController(input, access);
  await controller.look(signal);
  if (options.watch !== true) {
    const item = await itemOf(set, access, signal);
    await printStatus(item, input);
    return controller.isIdle ? exitCodes.unhealthy : codes[item.outcome];
  }
  const end = flags.timeoutGiven ? withTimeout(systemClock, flags.timeoutMs, signal) : signal;
  const last = await watch(set, { access, input, controller }, end);
  if (!flags.quiet && !isDocument(flags)) terminal.stderr.write(stepsText(last, flags));
  if (last.outcome === "incomplete" && end.aborted && !signal.aborted) return exitCodes.timedOut;
  return controller.isIdle ? exitCodes.unhealthy : codes[last.outcome];
}

/** Says on standard error that no controller works for fleet sets, or that this could not be looked at, whenever that changes. */
class ShownController {
  readonly #input: Input;
  readonly #access: ClusterAccess;
  #view: ControllerView | null = null;

  constructor(input: Input, access: ClusterAccess) {
    this.#input = input;
    this.#access = access;
  }

  /** Nobody looks after what the status says. */
  get isIdle(): boolean {
    return this.#view?.works === false;
  }

  async look(signal: AbortSignal): Promise<void> {
    const { flags, terminal } = this.#input;
    const place = { access: this.#access, now: terminal.now };
    const view = await readControllerView({ clusters: [], hasSets: true }, place, signal);
    const isSame = view?.message === this.#view?.message;
    this.#view = view;
    if (isSame || flags.quiet || signal.aborted) return;
    const lines = controllerLines({ controller: view }, { commands: commandsOf(flags) });
    terminal.stderr.write(lines.map((line) => `${line}\n`).join(""));
  }
}

/** Throws UsageError for a format that cannot show changes. */
function checkWatched({ output }: Flags): void {
  if (["table", "wide", "json", "yaml"].includes(output)) return;
  throw new UsageError(`-o ${output} cannot be used with --watch`, [
    "Omit --watch, or use -o json.",
  ]);
}

async function itemOf(
  set: FleetSet,
  access: ClusterAccess,
  signal: AbortSignal,
): Promise<RolloutItem> {
  const statusRefused = await refusedStatusOf(set, access, signal);
  return { ...rolloutItemOf(set), ...(statusRefused === undefined ? {} : { statusRefused }) };
}

async function printStatus(item: RolloutItem, { flags, terminal }: Input): Promise<void> {
  const style = styleOf({ flags, terminal });
  const document = rolloutStatusOf([item], stampAt(terminal.now(), clientVersion));
  await print(
    {
      document,
      heading: headingText(item, style),
      table: (wide) => stagesTable(item, wide, style),
      footer: footerText(item, flags.output === "wide", style),
      names: [`${item.kind.toLowerCase()}.knfleet.dev/${item.name}`],
      notes: [
        ...refusalLines(item),
        ...rolloutSteps(item).map((step) => stepLine(withHub(step, commandsOf(flags)))),
      ],
    },
    flags,
    terminal,
  );
}

/** Why the status is old, as a line. */
function refusalLines({ statusRefused }: RolloutItem): readonly string[] {
  return statusRefused === undefined
    ? []
    : [`warning: this status is old: ${plainText(statusRefused)}`];
}

function styleOf({ flags, terminal }: Pick<Input, "flags" | "terminal">): Style {
  return {
    times: timesOf(flags, terminal),
    paint: painterFor(terminal, flags.color),
    width: widthOf(terminal.stdout),
  };
}

function stepsText(item: RolloutItem, flags: Flags): string {
  const steps = rolloutSteps(item).map((step) => stepLine(withHub(step, commandsOf(flags))));
  return [...refusalLines(item), ...steps].map((line) => `${line}\n`).join("");
}

interface Watched {
  readonly access: ClusterAccess;
  readonly input: Input;
  readonly controller: ShownController;
}

/** Shows the rollout after each change, until it is complete, has failed, or the signal aborts. Returns the last state that was shown. */
async function watch(
  first: FleetSet,
  { access, input, controller }: Watched,
  signal: AbortSignal,
): Promise<RolloutItem> {
  const { terminal, flags } = input;
  const placed = placedSetOf(first);
  const resource = knownResource(fleetSetApiVersion, first.kind);
  const fieldSelector = `metadata.name=${placed.name}`;
  using changes = objectChanges(
    access,
    [{ resource, namespace: placed.namespace, fieldSelector }],
    signal,
  );
  const troubles = new Troubles(({ message }) =>
    terminal.stderr.write(`error: ${plainText(message)}\n`),
  );
  const shown = new ShownRollout(input);
  let item = await itemOf(first, access, signal);
  shown.show(item);
  while (item.outcome === "incomplete" && !signal.aborted) {
    // oxlint-disable no-await-in-loop -- each read follows a change
    await changes.next(pollMs, signal);
    if (isAborted(signal)) break;
    try {
      const set = await readSet(access, placed, signal);
      troubles.clear(null);
      if (set === undefined) {
        if (!flags.quiet) terminal.stderr.write("The set was deleted\n");
        return { ...item, outcome: "failed" };
      }
      item = await itemOf(set, access, signal);
      shown.show(item);
      await controller.look(signal);
    } catch (error) {
      if (!isAborted(signal)) troubles.report(troubleOf(error, null, access.hubTimeoutMs));
    }
    // oxlint-enable no-await-in-loop
  }
  return item;
}

/** The number of lines that a text takes in a terminal, which wraps long ones. */
function heightOf(text: string, columns = 0): number {
  const width = columns > 0 ? columns : Number.MAX_SAFE_INTEGER;
  const lines = stripVTControlCharacters(text).split("\n").slice(0, -1);
  return lines.reduce((sum, { length }) => sum + Math.max(1, Math.ceil(length / width)), 0);
}

/** Shows a watched rollout: in a terminal it redraws one picture, elsewhere it prints a line for each change. */
class ShownRollout {
  readonly #input: Input;
  #last = "";

  constructor(input: Input) {
    this.#input = input;
  }

  show(item: RolloutItem): void {
    const { flags, terminal } = this.#input;
    const { stdout, env } = terminal;
    const isDrawn = stdout.isTTY === true && env["TERM"] !== "dumb" && !isDocument(flags);
    const text = isDrawn ? this.#picture(item) : this.#line(item);
    if (text === this.#last) return;
    const lines = isDrawn ? heightOf(this.#last, stdout.columns) : 0;
    if (lines > 0) stdout.erase?.(lines);
    stdout.write(wantsAscii(env) && !isDocument(flags) ? inAscii(text) : text);
    this.#last = text;
  }

  #picture(item: RolloutItem): string {
    const { flags, terminal } = this.#input;
    const isWide = flags.output === "wide";
    const style = styleOf({ flags, terminal });
    const table = tableText(stagesTable(item, isWide, style), flags, terminal);
    const warnings = refusalLines(item).map((line) => `${line}\n`);
    return `${headingText(item, style)}${table}${footerText(item, isWide, style)}${warnings.join("")}`;
  }

  #line(item: RolloutItem): string {
    return isDocument(this.#input.flags) ? jsonLine(item) : `${rolloutLine(item)}\n`;
  }
}
