import { isAborted, withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { type FleetSet, fleetSetApiVersion } from "../../../../api/fleet-set.ts";
import { plainText } from "../../../../api/foreign-text.ts";
import { knownResource } from "../../../../api/resources.ts";
import { type ExitCode, exitCodes, UsageError } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { readControllerView } from "../../hub/controller-view.ts";
import { readSet } from "../../hub/fleet-sets.ts";
import { objectChanges } from "../../hub/hub-changes.ts";
import { type RolloutItem, rolloutItemOf, type RolloutOutcome } from "../../hub/rollout-item.ts";
import { rolloutSteps } from "../../hub/rollout-steps.ts";
import { refusedStatusOf } from "../../hub/warnings.ts";
import { isRedrawn } from "../../main/redrawn.ts";
import type { Answer, Looks, Report } from "../../main/report.ts";
import type { Talk } from "../../main/talk.ts";
import { controllerLines } from "../../output/notes.ts";
import { isDocument } from "../../output/output-format.ts";
import { troubleOf, Troubles } from "../../output/report.ts";
import { stepLine, withHub } from "../../output/steps.ts";
import { namedSet, placedSetOf } from "./named-set.ts";
import { footerText, headingText, rolloutLine, stagesTable, type Style } from "./rollout-text.ts";

const codes: Readonly<Record<RolloutOutcome, ExitCode>> = {
  complete: exitCodes.fine,
  failed: exitCodes.unhealthy,
  incomplete: exitCodes.incomplete,
};
const pollMs = 10_000;

/** The rollout of the set that the arguments name. With `watch` it goes on until the rollout is complete or has failed. Throws UsageError, and when the hub cannot be read. */
export async function showRollout(
  fleet: Fleet,
  watch: boolean,
  talk: Talk,
): Promise<Report<RolloutItem> | Answer> {
  const { flags, signal } = fleet;
  if (watch) checkWatched(flags);
  const set = await namedSet(fleet);
  if (!("kind" in set)) return set;
  const controller = new ShownController(fleet, talk);
  await controller.read(signal);
  const item = await itemOf(set, fleet);
  const report = reportOf(item, fleet);
  const exitCode = controller.isIdle ? exitCodes.unhealthy : codes[item.outcome];
  if (!watch) return { ...report, exitCode };
  return {
    ...watchedReport(item, fleet),
    redraws: true,
    follow: async (show, tell) => {
      const end = flags.timeoutGiven ? withTimeout(systemClock, flags.timeoutMs, signal) : signal;
      const showNext = (next: RolloutItem) => show(watchedReport(next, fleet), flags.headers);
      const deps = { fleet, controller, showNext, tell, talk };
      const last = await watchRollout(set, item, deps, end);
      if (!isDocument(flags)) talk.note(...stepsOf(last, fleet));
      if (last.outcome === "incomplete" && end.aborted && !signal.aborted) {
        return exitCodes.timedOut;
      }
      return controller.isIdle ? exitCodes.unhealthy : codes[last.outcome];
    },
  };
}

/** Says that no controller works for fleet sets, or that this could not be looked at, whenever that changes. */
class ShownController {
  readonly #fleet: Fleet;
  readonly #talk: Talk;
  #view: Awaited<ReturnType<typeof readControllerView>> = null;

  constructor(fleet: Fleet, talk: Talk) {
    this.#fleet = fleet;
    this.#talk = talk;
  }

  /** Nobody looks after what the status says. */
  get isIdle(): boolean {
    return this.#view?.works === false;
  }

  async read(signal: AbortSignal): Promise<void> {
    const { commands, now } = this.#fleet;
    const place = { access: await this.#fleet.access(), now };
    const view = await readControllerView({ clusters: [], hasSets: true }, place, signal);
    const isSame = view?.message === this.#view?.message;
    this.#view = view;
    if (isSame || signal.aborted) return;
    this.#talk.note(...controllerLines({ controller: view }, { commands }));
  }
}

/** Throws UsageError for a format that cannot show changes. */
function checkWatched({ output }: Flags): void {
  if (["table", "wide", "json", "yaml"].includes(output)) return;
  throw new UsageError(`-o ${output} cannot be used with --watch`, [
    "Omit --watch, or use -o json.",
  ]);
}

async function itemOf(set: FleetSet, fleet: Fleet): Promise<RolloutItem> {
  const statusRefused = await refusedStatusOf(set, await fleet.access(), fleet.signal);
  return { ...rolloutItemOf(set), ...(statusRefused === undefined ? {} : { statusRefused }) };
}

function styleOf(looks: Looks): Style {
  return { ...looks, width: looks.columns };
}

function reportOf(item: RolloutItem, fleet: Fleet): Report<RolloutItem> {
  return {
    items: [item],
    summary: { outcome: item.outcome },
    errors: [],
    heading: (looks) => headingText(item, styleOf(looks)),
    tables: (looks) => [stagesTable(item, looks.isWide, styleOf(looks))],
    footer: (looks) => footerText(item, looks.isWide, styleOf(looks)),
    name: ({ kind, name }) => `${kind.toLowerCase()}.knfleet.dev/${name}`,
    notes: () => stepsOf(item, fleet),
  };
}

/** A picture of the rollout in a terminal, elsewhere a line. */
function watchedReport(item: RolloutItem, fleet: Fleet): Report<RolloutItem> {
  const { items, summary, errors, heading, tables, footer } = reportOf(item, fleet);
  const { stdout } = fleet.asInput({}).terminal;
  if (!isRedrawn(stdout, fleet.env)) {
    return { items, summary, errors, line: (one) => `${rolloutLine(one)}\n` };
  }
  const warnings = refusalLines(item).map((line) => `${line}\n`);
  return {
    items,
    summary,
    errors,
    heading,
    tables,
    footer: (looks) => `${footer?.(looks, items)}${warnings.join("")}`,
  };
}

/** Why the status is old, as a line. */
function refusalLines({ statusRefused }: RolloutItem): readonly string[] {
  return statusRefused === undefined
    ? []
    : [`warning: this status is old: ${plainText(statusRefused)}`];
}

function stepsOf(item: RolloutItem, { commands }: Fleet): readonly string[] {
  return [
    ...refusalLines(item),
    ...rolloutSteps(item).map((step) => stepLine(withHub(step, commands))),
  ];
}

interface Watched {
  readonly fleet: Fleet;
  readonly controller: ShownController;
  readonly showNext: (item: RolloutItem) => Promise<void>;
  readonly tell: (lines: readonly string[]) => void;
  readonly talk: Talk;
}

/** Shows the rollout after each change, until it is complete, has failed, or the signal aborts. Returns the last state that was shown. */
async function watchRollout(
  first: FleetSet,
  shown: RolloutItem,
  { fleet, controller, showNext, tell, talk }: Watched,
  signal: AbortSignal,
): Promise<RolloutItem> {
  const access = await fleet.access();
  const placed = placedSetOf(first);
  const resource = knownResource(fleetSetApiVersion, first.kind);
  const fieldSelector = `metadata.name=${placed.name}`;
  using changes = objectChanges(
    access,
    [{ resource, namespace: placed.namespace, fieldSelector }],
    signal,
  );
  const troubles = new Troubles(({ message }) => tell([`error: ${plainText(message)}`]));
  let item = shown;
  while (item.outcome === "incomplete" && !signal.aborted) {
    // oxlint-disable no-await-in-loop -- each read follows a change
    await changes.next(pollMs, signal);
    if (isAborted(signal)) break;
    try {
      const set = await readSet(access, placed, signal);
      troubles.clear(null);
      if (set === undefined) {
        talk.note("The set was deleted");
        return { ...item, outcome: "failed" };
      }
      item = await itemOf(set, fleet);
      await showNext(item);
      await controller.read(signal);
    } catch (error) {
      if (!isAborted(signal)) troubles.report(troubleOf(error, null, access.hubTimeoutMs));
    }
    // oxlint-enable no-await-in-loop
  }
  return item;
}
