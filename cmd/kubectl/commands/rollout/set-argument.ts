import type { Arguments } from "../../main/command-spec.ts";

/** The argument that names one set. */
export const oneSet: Arguments = {
  usage: "SET",
  completes: "sets",
  tool: {
    name: "set",
    text: "A fleet set: kss/NAME or kes/NAME",
    isRequired: true,
    isOne: true,
  },
};

/** How a set is named, for the text of a command. */
export const setText = "A set is kss/NAME or kes/NAME, in the namespace of the context or of -n.";

export const setNeedsFleet = "it is about a set of the hub as it is now";
