import type { CommandTexts, Completed } from "../action.ts";
import type { Fleet } from "../fleet/fleet.ts";
import type { CommandFlags, ValuesOf } from "./command-flags.ts";
import type { Answer, Report } from "./report.ts";
import type { Talk } from "./talk.ts";
import type { CommonArgument } from "./tool-arguments.ts";

/** The arguments behind the name of a command. */
export interface Arguments {
  /** As help shows them. */
  readonly usage: string;
  /** What completion offers. */
  readonly completes?: Completed;
  /** They name installations, as `Fleet.installations` reads them. */
  readonly selects?: true;
  /** A tool has an argument of this name for them. */
  readonly tool?: {
    readonly name: string;
    readonly text: string;
    readonly isRequired?: true;
    /** It is the name of one thing. The tool then requires `namespace`, too. */
    readonly isOne?: true;
  };
}

/** A command in one piece, as its author declares it. `command()` makes the entry of the table from it. The code that does its work is imported in `run`. */
export interface CommandSpec<Flags extends CommandFlags, Item> extends CommandTexts {
  readonly args: Arguments;
  /** Its own flags by the name of the value: `spokeNamespace` for `--spoke-namespace`, `live` for `--no-live`. */
  readonly options: Flags;
  /** `kind` of its documents. Absent: it never has a report. */
  readonly document?: string;
  /** Arguments of the tool for assistants besides those of `args` and `options`. Absent: there is no tool. */
  readonly tool?: readonly CommonArgument[];
  /** False: the hub alone is read. Default: as `--no-live` says, else true. */
  readonly reachesSpokes?: false;
  /** Without -A and -n it looks in all namespaces. Absent: in that of the context. */
  readonly looksEverywhere?: true;
  /** It asks no cluster, also none of a bundle. */
  readonly asksNobody?: true;
  /** `talk`: for what is said and asked before the end. */
  readonly run: (
    fleet: Fleet,
    options: ValuesOf<Flags>,
    talk: Talk,
  ) => Promise<Report<Item> | Answer>;
}
