import type { CommandBench } from "./command-bench.ts";

/** The arguments of one run of `kubectl knfleet`. */
export type Line = readonly string[];

/** A command that writes, where it is run, and what must come of it however it is disturbed. */
export interface CommandCase {
  /** As docs/security.md has it: `rollout approve`. */
  readonly command: string;
  /** What is special, where a command has several cases. */
  readonly about?: string;
  /** Makes what the command needs, on clusters that hold nothing but what all cases share. May be called again on its own work. */
  readonly prepare: (bench: CommandBench) => Promise<void>;
  readonly line: Line;
  /** The same without a write. */
  readonly dryRun: Line;
  /** Takes back what the command did, also after it ended in the middle. */
  readonly counterpart?: Line;
  /** The clusters that it talks to; default both. */
  readonly clusters?: readonly ("hub" | "spoke-1")[];
  /** Exit code of an undisturbed run; default 0. */
  readonly exitCode?: number;
  /** The command refuses here: it writes nothing, whatever is done to it. */
  readonly isRefused?: true;
  /** What it did is done: the command again finds nothing to do, and may say so with any exit code. */
  readonly isOnce?: true;
  /** What a run that ended in the middle says when it does not name each object that it left. */
  readonly says?: RegExp;
  /** What a run that ended well says when it left something on purpose, because it could not see whose it is. */
  readonly warns?: RegExp;
  /** Runs beside the command, as long as it is tried. */
  readonly beside?: (bench: CommandBench) => AsyncDisposable;
  /** Identities of what a death leaves for Kubernetes to delete in time. */
  readonly expires?: RegExp;
  /** What is wrong after a run that ended well, besides what the clusters hold. */
  readonly faultsAfter?: (bench: CommandBench) => Promise<readonly string[]>;
}

/** The name of a case in the table. */
export function titleOf({ command, about }: Pick<CommandCase, "command" | "about">): string {
  return about === undefined ? command : `${command} ${about}`;
}
