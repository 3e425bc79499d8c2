/** What the demo is told by its arguments, its environment and its terminal. */
export interface DemoOptions {
  /** `leave`: the fleet runs on until Ctrl-C; `stop`: everything stops after the last step. */
  readonly atEnd: "leave" | "stop";
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

export const usage = `Usage: npm run demo [-- --once]

A real hub and two real spokes on this machine: installs Knative on both, breaks
a credential, mends it, removes one component, and leaves the fleet running.

  --once   stop everything after the last step (default without a terminal)
  --help   this text

Exit codes: 0 done or stopped with Ctrl-C, 1 a step failed, 2 wrong arguments.
`;

/** Decides how the demo runs. Colours need a terminal and no NO_COLOR; leaving the fleet running needs a person. */
export function demoOptions(
  args: readonly string[],
  surroundings: DemoSurroundings,
): ParsedDemoOptions {
  const unknown = args.find((arg) => !["--once", "--help", "-h"].includes(arg));
  if (unknown !== undefined) {
    return { kind: "refused", message: `Unknown argument ${unknown}; --once and --help are known` };
  }
  if (args.includes("--help") || args.includes("-h")) return { kind: "help" };
  const { environment, stdinIsTerminal, stdoutIsTerminal, columns } = surroundings;
  const someone = stdinIsTerminal === true && stdoutIsTerminal === true;
  const terminal = stdoutIsTerminal === true && environment["TERM"] !== "dumb";
  return {
    kind: "run",
    options: {
      atEnd: someone && !args.includes("--once") ? "leave" : "stop",
      colors: terminal && (environment["NO_COLOR"] ?? "") === "",
      terminal,
      width: Math.min(Math.max(columns ?? 80, 40), 120),
    },
  };
}
