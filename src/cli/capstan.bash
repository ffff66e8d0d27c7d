# Completion of `capstan` for bash.
_capstan() {
  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} options=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "inspect convert diff run --help --version" -- "$word")
    return
  fi
  if [ "${COMP_WORDS[COMP_CWORD - 1]}" = --to ]; then
    mapfile -t COMPREPLY < <(compgen -W "safetensors npz npy tensorflow hdf5" -- "$word")
    return
  fi
  case "$command" in
    inspect) options="--statistics --help" ;;
    convert) options="--to --help" ;;
    diff) options="--tolerance --help" ;;
    run) options="--input --output --help" ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o filenames -F _capstan capstan
