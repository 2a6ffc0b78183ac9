#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# completion_test.sh FOLDER: what TAB offers in bash, and that zsh and fish, where they are installed, can read their
# files.
set -u
docs=$1
failed=0
# shellcheck source=/dev/null
source "$docs/kvboost.bash"

# offers 'words' typed so far, the last one unfinished -- what must be, and with a "!" must not be, among the offers
offers() {
  local line=$1 word
  shift
  read -ra COMP_WORDS <<<"$line"
  [[ $line == *' ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  _kvboost
  for word in "$@"; do
    local wanted=yes found=no reply
    [[ $word == !* ]] && wanted=no word=${word#!}
    for reply in "${COMPREPLY[@]}"; do [[ $reply == "$word" ]] && found=yes; done
    if [[ $found != "$wanted" ]]; then
      echo "after '$line': '$word' offered: $found, wanted: $wanted (${COMPREPLY[*]})"
      failed=1
    fi
  done
}

cd "$docs" || exit 1
offers 'kvboost ' ask status daemon '!start' '!kvboost.1'
offers 'kvboost st' status '!ask'
offers 'kvboost daemon ' start stop restart logs '!ask'
offers 'kvboost daemon logs --' --follow --lines --model '!--explain'
offers 'kvboost daemon logs -f ' '!kvboost.1'
offers 'kvboost ask why kv' kvboost.1
offers 'kvboost ask -f kv' kvboost.1
offers 'kvboost ask --' --explain --temperature --threads '!--follow'
offers 'kvboost ask --compute ' auto bf16 f32 '!--explain' '!kvboost.1'
offers 'kvboost --log-level ' debug '!ask'
offers 'kvboost ask --max-tokens ' '!ask' '!kvboost.1'
offers 'kvboost config ' set unset max_tokens
offers 'kvboost config set thr' threads
offers 'kvboost model add kv' kvboost.1
offers 'kvboost warm kv' kvboost.1
offers 'kvboost warm --since ' '!--changed' '!kvboost.1'
offers 'kvboost cache ' stats evict clear pin '!warm'
offers 'kvboost cache evict --' --older-than --stale --dry-run '!--yes'
offers 'kvboost cache inspect kv' kvboost.1

for shell in zsh:_kvboost fish:kvboost.fish; do
  if command -v "${shell%%:*}" >/dev/null; then
    "${shell%%:*}" -n "$docs/${shell#*:}" || failed=1
  fi
done
exit "$failed"
