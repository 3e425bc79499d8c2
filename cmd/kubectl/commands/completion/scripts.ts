/** What `completion SHELL` prints. All ask the same program with cobra's protocol; some want `--flag=value` as a whole. */
export const scripts = {
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
