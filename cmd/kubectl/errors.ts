/** Exit codes of `kubectl knfleet`, the same for every output format. Spec: cli.md, Conventions. */
export const exitCodes = {
  fine: 0,
  /** The answer is "not healthy" (or not found) at or above `--fail-on`. */
  unhealthy: 1,
  /** The command could not do its work: usage, kubeconfig, hub unreachable or forbidden. */
  failed: 2,
  /** Something could not be read and nothing worse was found; a rollout is neither complete nor failed. */
  incomplete: 3,
  /** `wait` and `rollout status --watch`: the time was over. */
  timedOut: 124,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The command line is wrong. The message names the mistake, `next` the correction. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly next: readonly string[];

  constructor(message: string, next: readonly string[] = []) {
    super(message);
    this.next = next;
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
