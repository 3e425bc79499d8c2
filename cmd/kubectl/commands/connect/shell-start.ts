import { basename, join } from "node:path";

/** How a shell is started so that its prompt shows a cluster. */
export interface ShellStart {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Files for the folder, by name. */
  readonly files: Readonly<Record<string, string>>;
}

/**
 * Arguments, variables and files for a shell that reads its owner's settings and then puts the cluster in front of its prompt. A shell that is not known
 * is started as it is. `cluster` is a name as Kubernetes allows it, so nothing in it means anything to a shell.
 */
export function shellStart(
  shell: string,
  { cluster, folder, home }: Readonly<Record<"cluster" | "folder" | "home", string>>,
): ShellStart {
  const mark = `(${cluster}) `;
  switch (basename(shell).replace(/\.exe$/, "")) {
    case "bash":
      return {
        args: ["--rcfile", join(folder, "bashrc"), "-i"],
        env: {},
        files: { bashrc: `[ -f ~/.bashrc ] && . ~/.bashrc\nPS1='${mark}'"$PS1"\n` },
      };
    case "zsh":
      return {
        args: ["-i"],
        env: { ZDOTDIR: folder, KNFLEET_ZDOTDIR: home },
        files: {
          ".zshrc": `ZDOTDIR="$KNFLEET_ZDOTDIR"\nunset KNFLEET_ZDOTDIR\n[ -f "$ZDOTDIR/.zshrc" ] && . "$ZDOTDIR/.zshrc"\nPROMPT='${mark}'"$PROMPT"\n`,
        },
      };
    case "fish":
      return {
        args: [
          "-i",
          "-C",
          `functions -c fish_prompt __knfleet_prompt; function fish_prompt; echo -n '${mark}'; __knfleet_prompt; end`,
        ],
        env: {},
        files: {},
      };
    case "sh":
    case "dash":
    case "ash":
    case "ksh":
      return { args: ["-i"], env: { PS1: `${mark}$ ` }, files: {} };
    default:
      return { args: [], env: {}, files: {} };
  }
}
