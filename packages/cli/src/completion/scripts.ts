/** What each shell is told. The words are worked out by `atoll __complete`, so that a script is never out of date. */
export const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# Of bash: source <(atoll completion bash)
_atoll() {
  local cur=\${COMP_WORDS[COMP_CWORD]} line=\${COMP_LINE:0:COMP_POINT}
  local -a words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  # Bash takes name:path apart at the colon; it is one word here.
  if declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref -n : -w words -c cur
    words=("\${words[@]:1}")
  fi
  local IFS=$'\\n'
  COMPREPLY=($(atoll __complete -- "\${words[@]}" 2>/dev/null))
  if declare -F __ltrim_colon_completions >/dev/null; then __ltrim_colon_completions "$cur"; fi
  [[ \${COMPREPLY[0]:-} != *: ]] || compopt -o nospace
}
complete -o default -F _atoll atoll
`,
  zsh: `#compdef atoll
# Of zsh: atoll completion zsh > "\${fpath[1]}/_atoll", or source <(atoll completion zsh)
_atoll() {
  local -a found
  found=("\${(@f)$(atoll __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=(\${found:#})
  if (( \${#found} )); then compadd -Q -- $found; else _files; fi
}
if [ "$funcstack[1]" = "_atoll" ]; then _atoll "$@"; else compdef _atoll atoll; fi
`,
  fish: `# Of fish: atoll completion fish > ~/.config/fish/completions/atoll.fish
function __atoll_complete
    set -l words (commandline -opc) (commandline -ct)
    atoll __complete -- $words[2..] 2>/dev/null
end
complete -c atoll -a '(__atoll_complete)'
`,
};
