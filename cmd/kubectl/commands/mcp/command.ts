import type { CommandEntry } from "../../action.ts";
import { command, noArguments } from "../../main/command.ts";

/** `mcp`: the commands that only read, as tools for assistants. `commands`: all of them. */
export const mcp = (commands: () => readonly CommandEntry[]): CommandEntry =>
  command({
    name: "mcp",
    args: noArguments,
    summary: "Offer the commands that only read as tools of the Model Context Protocol",
    text: "Speaks the Model Context Protocol on standard input and output, for programs that start it: assistants and editors. Each command that only reads is a tool\nand returns its document (-o json), without what looks like a secret. No tool writes anything, gives out a credential, opens a connection for\nsomebody else or reads a file that a client names. Flags for the hub and the way to clusters are given here, once; -n, -l, --cluster and --on are\nwhat a call without such an argument means. With --bundle there are only the tools that read bundles. It ends when standard input ends.",
    examples: [
      ["kubectl knfleet mcp --context hub", "what a client starts"],
      ["kubectl knfleet mcp --bundle fleet.tgz", "on what gather wrote"],
    ],
    options: {},
    ownTimeout: true,
    isForPrograms: true,
    run: async (fleet) => {
      const { runMcp } = await import("./mcp.ts");
      return { exitCode: await runMcp(commands(), fleet.asInput({}), fleet.signal) };
    },
  });
