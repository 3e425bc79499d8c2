import { type ExitCode, exitCodes } from "./errors.ts";

/** What each exit code means. */
export const exitCodeMeanings: Readonly<Record<ExitCode, string>> = {
  0: "fine",
  1: "something is not healthy, is refused or differs, or what was named does not exist",
  2: "the command could not do its work: usage, input, kubeconfig, provider file, hub unreachable or forbidden",
  3: "incomplete: something could not be read and nothing worse was found; or a rollout is not over yet",
  124: "wait, rollout status --watch, migrate --apply: the time was over",
  130: "interrupted; what was known is printed",
};

/** What codes mean for one command, where that says more. Help and docs/cli/ show it. */
export type OwnExitCodes = Partial<Record<ExitCode, string>>;

/** What the flag for the time does to a command that waits. */
export function timeoutText(waiting: string): string {
  return `--timeout ends ${waiting} with ${exitCodes.timedOut}`;
}

/** What it means that the time was over, for a command that prints what it has waited for. */
export const timedOutText = "the time was over; what was waited for is printed";
