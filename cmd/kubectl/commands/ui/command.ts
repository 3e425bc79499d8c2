import type { CommandEntry } from "../../action.ts";
import { noLiveFlag, turnedOff, worded } from "../../main/command-flags.ts";
import { command, noArguments } from "../../main/command.ts";

/** `ui`: the fleet as a page in the browser. `commands`: all of them, for the documents of its pages. */
export const ui = (commands: () => readonly CommandEntry[]): CommandEntry =>
  command({
    name: "ui",
    args: noArguments,
    summary: "Show the fleet as a page in the browser",
    text: "Serves a page on this computer alone, and opens it in the browser. The page only reads, with your kubeconfig. The address that is printed opens it, once in each\ntab: it has a token, without which nobody gets in. The hub is watched, and the spokes are read anew every ten seconds. -n, -l, --cluster, --on, --failed and --reason\nselect what the page shows; without -n it is every namespace. With --bundle it is the fleet as gather wrote it. Keys: / goes to\nthe filter, j and k go down and up. Ctrl-C ends it.",
    examples: [
      ["kubectl knfleet ui", "the whole fleet in the browser"],
      [
        "kubectl knfleet ui --no-open --port 8080",
        "on another computer, behind ssh -L 8080:127.0.0.1:8080",
      ],
      ["kubectl knfleet ui --cluster 'eu-*' -l env=prod", "a part of the fleet"],
      ["kubectl knfleet ui --once fleet.html", "one file that needs no server"],
      ["kubectl knfleet ui --bundle fleet.tgz", "as it was when gather wrote the bundle"],
    ],
    options: {
      live: noLiveFlag(),
      port: worded("--port <port>", "port of 127.0.0.1 and ::1; default: one that is free"),
      open: turnedOff("--no-open", "only print the address"),
      once: worded("--once <file>", "write the page to this file when everything is read, and end"),
    },
    looksEverywhere: true,
    ownTimeout: true,
    run: async (fleet, options) => (await import("./ui.ts")).showPage(commands(), fleet, options),
  });
