import type { Option } from "commander";

import type { Action } from "./action.ts";
import type { Examples } from "./help.ts";
import type { ExtraFormat } from "./output/output-format.ts";

/** A command before it is loaded: what help, docs/cli.md and completion show, and how to get at the code. */
export interface CommandEntry {
  readonly name: string;
  readonly args: string;
  readonly summary: string;
  readonly text: string;
  readonly examples: Examples;
  readonly options: readonly Option[];
  /** `kind` of the documents that the command prints as JSON and YAML; absent: it prints something else. */
  readonly kind?: string;
  /** Formats of `-o` besides those that every command has. */
  readonly formats?: readonly ExtraFormat[];
  /** What completion offers for arguments; absent: nothing. */
  readonly completes?: "installations" | "clusters" | "reasons" | "kinds" | "commands" | "shells";
  /** On a terminal a pager shows what it prints: always, or when one object was named. */
  readonly pages?: "always" | "one";
  /** The command keeps `--timeout` itself; absent: it is ended after that time. */
  readonly ownTimeout?: true;
  /** The command works on a bundle, too (`--bundle`); absent: it needs the fleet itself, or no cluster at all. */
  readonly readsBundles?: true;
  /** What a bundle cannot give the command; absent: it reads bundles, or asks no cluster. */
  readonly needsFleet?: string;
  /** `-o` that is no format names the file to write; the action finds it in its options as `file`. */
  readonly writesFile?: true;
  /** Programs run it, and nobody reads along. */
  readonly isForPrograms?: true;
  readonly load: () => Promise<Action<object>>;
}
