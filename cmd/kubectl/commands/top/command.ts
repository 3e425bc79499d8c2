import type { CommandEntry } from "../../action.ts";
import { noLiveFlag, toggle } from "../../main/command-flags.ts";
import { command, installationNames } from "../../main/command.ts";

/** `top`: the fleet on the whole screen of a terminal. `commands`: all of them, some of which its pages show. */
export const top = (commands: () => readonly CommandEntry[]): CommandEntry =>
  command({
    name: "top",
    args: installationNames,
    summary: "Watch the fleet on the whole screen of a terminal",
    text: "The table of status, kept up to date: the hub is watched, and the spokes are read anew ten seconds after the last round, one of them sooner\nwhen its component changes on the hub. Where there are fleet sets, a line for each stands above the table. Keys: arrows or j and k move, Enter opens one installation, d diagnoses it, e and l show its Events\nand logs, / filters, s sorts, r reads everything anew, ? lists all keys, q ends it. It only reads. It needs a terminal; everywhere else there\nis status -w. top is for the keyboard and for SSH;\nui shows the same fleet in a browser, with causes, versions, a graph and a time line, also for a wall, a phone or a mail (ui --once FILE).",
    exits: {
      0: "ended with q; with --once as status",
      2: "there is no terminal, or the command could not do its work",
    },
    examples: [
      ["kubectl knfleet top -A", "the whole fleet"],
      ["kubectl knfleet top ks -A --cluster 'eu-*'", "Serving on some clusters"],
      ["kubectl knfleet top -A --failed", "only what is not healthy"],
      ["kubectl knfleet top -A --bundle fleet.tgz", "as it was when gather wrote the bundle"],
      ["kubectl knfleet top -A --once", "the first screen as text, without a terminal"],
    ],
    options: {
      live: noLiveFlag(),
      once: toggle("--once", "print one screen when everything is read, and end"),
    },
    ownTimeout: true,
    run: async (fleet, options, talk) =>
      (await import("./top.ts")).showTop(commands(), fleet, options, talk),
  });
