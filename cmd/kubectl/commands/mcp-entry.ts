import type { CommandEntry } from "../action.ts";

/** `mcp` on the command line. `commands`: all of them. */
export const mcpEntry = (commands: () => readonly CommandEntry[]): CommandEntry => ({
  name: "mcp",
  args: "",
  summary: "Offer the commands that only read as tools of the Model Context Protocol",
  text: "Speaks the Model Context Protocol on standard input and output, for programs that start it: assistants and editors. Each command that only reads is a tool\nand returns its document (-o json), without what looks like a secret. No tool writes anything, gives out a credential, opens a connection for\nsomebody else or reads a file that a client names. Flags for the hub and the way to clusters are given here, once; -n, -l, --cluster and --on are\nwhat a call without such an argument means. With --bundle there are only the tools that read bundles. It ends when standard input ends.",
  examples: [
    ["kubectl knfleet mcp --context hub", "what a client starts"],
    ["kubectl knfleet mcp --bundle fleet.tgz", "on what gather wrote"],
  ],
  options: [],
  readsBundles: true,
  ownTimeout: true,
  isForPrograms: true,
  load: async () => {
    const { runMcp } = await import("./mcp/mcp-action.ts");
    return (input, signal) => runMcp(commands(), input, signal);
  },
});
