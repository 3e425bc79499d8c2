import type { Option } from "commander";

import type { Action } from "./action.ts";
import type { Examples } from "./help.ts";

/** A command before it is loaded: what help shows, and how to get at the code. */
export interface CommandEntry {
  readonly name: string;
  readonly args: string;
  readonly summary: string;
  readonly text: string;
  readonly examples: Examples;
  readonly options: readonly Option[];
  readonly load: () => Promise<Action<object>>;
}
