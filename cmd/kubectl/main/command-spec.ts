import type { CommandEntry } from "../action.ts";
import type { OwnExitCodes } from "../exit-codes.ts";
import type { Fleet } from "../fleet/fleet.ts";
import type { Examples } from "../help.ts";
import type { ExtraFormat } from "../output/output-format.ts";
import type { CommandFlags, ValuesOf } from "./command-flags.ts";
import type { Answer, Report } from "./report.ts";
import type { Talk } from "./talk.ts";
import type { CommonArgument } from "./tool-arguments.ts";

/** The arguments behind the name of a command. */
export interface Arguments {
  /** As help shows them. */
  readonly usage: string;
  /** What completion offers. */
  readonly completes?: CommandEntry["completes"];
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

/** A command in one piece. The code that does its work is imported in `run`. */
export interface CommandSpec<Flags extends CommandFlags, Item> {
  readonly name: string;
  readonly args: Arguments;
  readonly summary: string;
  readonly text: string;
  readonly exits?: OwnExitCodes;
  readonly examples: Examples;
  /** Its own flags by the name of the value: `spokeNamespace` for `--spoke-namespace`, `live` for `--no-live`. */
  readonly options: Flags;
  /** `kind` of its documents. Absent: it never has a report. */
  readonly document?: string;
  /** Formats of `-o` that only some commands have. */
  readonly formats?: readonly ExtraFormat[];
  /** Arguments of the tool for assistants besides those of `args` and `options`. Absent: there is no tool. */
  readonly tool?: readonly CommonArgument[];
  /** False: the hub alone is read. Default: as `--no-live` says, else true. */
  readonly reachesSpokes?: false;
  /** Without -A and -n it looks in all namespaces. Absent: in that of the context. */
  readonly looksEverywhere?: true;
  /** The time limit is that of the command itself. */
  readonly ownTimeout?: true;
  /** Uses the pager on a terminal. */
  readonly pages?: CommandEntry["pages"];
  /** A value of `-o` that is no format is the file to write: `outputFile` of the flags. */
  readonly writesFile?: true;
  /** It is run by programs, without a person who reads notes. */
  readonly isForPrograms?: true;
  /** It asks no cluster, also none of a bundle. */
  readonly asksNobody?: true;
  /** Why it does not work on a bundle. Absent: it does. */
  readonly needsFleet?: string;
  /** `talk`: for what is said and asked before the end. */
  readonly run: (
    fleet: Fleet,
    options: ValuesOf<Flags>,
    talk: Talk,
  ) => Promise<Report<Item> | Answer>;
}
