import { Option } from "commander";

/** Flag of the commands that select installations by a file. */
export interface FilenameFlag {
  readonly filename?: string;
}

/** The same on the command line; `flags` is another spelling where `-f` means something else. */
export function filenameOption(flags = "-f, --filename <file>"): Option {
  return new Option(flags, "the installations of a file of manifests, or of standard input (-)");
}
