import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";

import type { ActionInput } from "../../action.ts";
import { type ExitCode, exitCodes, UsageError } from "../../errors.ts";
import type { Terminal } from "../../output/terminal.ts";

/** Flags of `completion` alone. */
interface CompletionFlags {
  readonly yes?: boolean;
}

const fileName = "kubectl_complete-knfleet";

/** `kubectl knfleet completion`. */
export async function runCompletion({
  args,
  options,
  terminal,
}: ActionInput<CompletionFlags>): Promise<ExitCode> {
  const [shell = "", ...more] = args;
  if (more.length > 0) throw new UsageError(`One shell is enough: "${args.join(" ")}"`);
  if (shell === "install") {
    const path = await install(terminal, options.yes === true);
    terminal.stdout.write(`${path}\n`);
    return exitCodes.fine;
  }
  const script = Object.entries(scripts).find(([name]) => name === shell)?.[1];
  if (script === undefined) {
    const shells = [...Object.keys(scripts), "install"].join(", ");
    throw new UsageError(`There is no completion for "${shell}": want ${shells}`);
  }
  terminal.stdout.write(script);
  return exitCodes.fine;
}

/** Writes the file beside the plugin that is first on the PATH, and returns where. Throws UsageError. */
async function install({ env }: Terminal, replace: boolean): Promise<string> {
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const plugins = folders.map((folder) => join(folder, "kubectl-knfleet"));
  const found = await Promise.all(plugins.map(isFile));
  const plugin = plugins.find((_, at) => found[at] === true);
  if (plugin === undefined) {
    throw new UsageError("kubectl-knfleet is in no folder of the PATH", [
      `Write it by hand into a folder of the PATH: kubectl knfleet completion kubectl > FOLDER/${fileName}`,
    ]);
  }
  const path = join(dirname(plugin), fileName);
  const present = await readFile(path, "utf8").catch(() => undefined);
  if (present !== undefined && present !== scripts.kubectl && !replace) {
    throw new UsageError(`${path} is there and is something else; replace it with --yes`);
  }
  await writeFile(path, scripts.kubectl);
  await chmod(path, 0o755);
  return path;
}

async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true;
}

/** Output of `completion SHELL`. All scripts call the same program with cobra's protocol; some shells complete `--flag=value` as a whole. */
const scripts = {
  kubectl: `#!/bin/sh
# Run by kubectl to complete "kubectl knfleet ...".
exec kubectl-knfleet __complete "$@"
`,
  bash: `# bash completion of kubectl-knfleet
__knfleet_complete() {
  local line directive=""
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :*) directive="\${line#:}" ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  (( directive & 2 )) && compopt -o nospace 2>/dev/null
  (( directive & 4 )) || compopt -o default 2>/dev/null
}
complete -F __knfleet_complete kubectl-knfleet
`,
  zsh: `#compdef kubectl-knfleet
_kubectl_knfleet() {
  local line directive=0
  local -a found
  for line in "\${(@f)$(\${words[1]} __completeWords "\${(@)words[2,$CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == :* ]]; then
      directive=\${line#:}
    elif [[ $line == *$'\\t'* ]]; then
      found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    else
      found+=("\${line//:/\\\\:}")
    fi
  done
  if (( directive & 2 )); then _describe words found -S ''; else _describe words found; fi
  (( directive & 4 )) || _files
}
compdef _kubectl_knfleet kubectl-knfleet
`,
  fish: `# fish completion of kubectl-knfleet
function __knfleet_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in (command $words[1] __completeWords $words[2..-1] 2>/dev/null)
    string match -q ':*' -- $line; or echo $line
  end
end
complete -c kubectl-knfleet -f -a '(__knfleet_complete)'
`,
  powershell: `# PowerShell completion of kubectl-knfleet
Register-ArgumentCompleter -Native -CommandName 'kubectl-knfleet' -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements |
    Where-Object { $_.Extent.StartOffset -lt $cursorPosition } |
    ForEach-Object { $_.Extent.Text } |
    Select-Object -Skip 1)
  # An empty word would get lost on its way to a program.
  if ($wordToComplete -eq '') { $words += '""' }
  & $commandAst.CommandElements[0].Extent.Text __completeWords @words 2>$null |
    Where-Object { $_ -notmatch '^:\\d+$' } |
    ForEach-Object {
      $value, $text = $_ -split "\`t", 2
      if (-not $text) { $text = $value }
      [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $text)
    }
}
`,
} as const;
