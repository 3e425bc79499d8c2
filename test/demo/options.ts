/** What the demo is told by its arguments, its environment and its terminal. */
export interface DemoOptions {
  /** `leave`: the fleet runs on until the demo is ended; `stop`: everything stops after the last step. */
  readonly atEnd: "leave" | "stop";
  /** The fleet is kept because `--keep` says so, and not because there is a person at a terminal. */
  readonly isKept: boolean;
  readonly colors: boolean;
  /** Output is a terminal: progress is rewritten in place. */
  readonly terminal: boolean;
  /** Columns that lines are fitted to. */
  readonly width: number;
}

export interface DemoSurroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** `isTTY` of the streams, which is undefined, not false, for what is no terminal. */
  readonly stdinIsTerminal: boolean | undefined;
  readonly stdoutIsTerminal: boolean | undefined;
  readonly columns: number | undefined;
}

export type ParsedDemoOptions =
  | { readonly kind: "run"; readonly options: DemoOptions }
  | { readonly kind: "help" }
  | { readonly kind: "refused"; readonly message: string };

export const usage = `Usage: npm run demo [-- --once | --keep]

A real hub and two real spokes on this machine: installs Knative on both, breaks
a credential, mends it, removes one component, and leaves the fleet running.

  --once   stop everything after the last step (default without a terminal)
  --keep   leave the fleet running also without a terminal
  --help   this text

Exit codes: 0 done or stopped with Ctrl-C, 1 a step failed, 2 wrong arguments.
`;

/** Decides how the demo runs. Colours need a terminal and no NO_COLOR; leaving the fleet running needs a person. */
export function demoOptions(
  args: readonly string[],
  surroundings: DemoSurroundings,
): ParsedDemoOptions {
  const message = refusalOf(args);
  if (message !== undefined) return { kind: "refused", message };
  if (args.includes("--help") || args.includes("-h")) return { kind: "help" };
  const isKept = args.includes("--keep");
  const { environment, stdinIsTerminal, stdoutIsTerminal, columns } = surroundings;
  const someone = stdinIsTerminal === true && stdoutIsTerminal === true;
  const terminal = stdoutIsTerminal === true && environment["TERM"] !== "dumb";
  return {
    kind: "run",
    options: {
      atEnd: isKept || (someone && !args.includes("--once")) ? "leave" : "stop",
      isKept,
      colors: terminal && (environment["NO_COLOR"] ?? "") === "",
      terminal,
      width: Math.min(Math.max(columns ?? 80, 40), 120),
    },
  };
}

function refusalOf(args: readonly string[]): string | undefined {
  const unknown = args.find((arg) => !["--once", "--keep", "--help", "-h"].includes(arg));
  if (unknown !== undefined) {
    return `Unknown argument ${unknown}; --once, --keep and --help are known`;
  }
  const isBoth = args.includes("--once") && args.includes("--keep");
  return isBoth ? "--once stops the fleet and --keep keeps it: give one of them" : undefined;
}
