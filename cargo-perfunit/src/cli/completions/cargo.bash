
# `cargo perfunit X` is completed as `cargo-perfunit X`, everything else by what completed `cargo` before.
_cargo_or_perfunit() {
    local at=1
    [[ ${COMP_WORDS[1]} == +* ]] && at=2
    if [[ ${COMP_WORDS[at]} == perfunit ]] && ((COMP_CWORD > at)); then
        COMP_WORDS=(cargo-perfunit "${COMP_WORDS[@]:at+1}")
        ((COMP_CWORD -= at))
        _cargo__perfunit cargo-perfunit "$2" "$3"
        return
    fi
    if [[ -z ${_cargo_before_perfunit-} ]]; then
        # bash-completion loads cargo's own when it is needed, and has had no occasion to, because ours was there.
        complete -r cargo
        if declare -F _comp_load > /dev/null; then
            _comp_load cargo
        elif declare -F _completion_loader > /dev/null; then
            _completion_loader cargo
        fi
        _cargo_before_perfunit=$(_cargo_completed_by)
        complete -F _cargo_or_perfunit -o bashdefault -o default cargo
    fi
    if [[ -n $_cargo_before_perfunit ]]; then
        "$_cargo_before_perfunit" "$@"
    fi
}

# The name of the function that completes `cargo`, if there is one.
_cargo_completed_by() {
    local words
    read -ra words <<< "$(complete -p cargo 2> /dev/null)"
    local i
    for ((i = 0; i < ${#words[@]}; i++)); do
        if [[ ${words[i]} == -F && ${words[i + 1]} != _cargo_or_perfunit ]]; then
            echo "${words[i + 1]}"
        fi
    done
}

if [[ -z ${_cargo_before_perfunit-} ]]; then
    _cargo_before_perfunit=$(_cargo_completed_by)
fi
complete -F _cargo_or_perfunit -o bashdefault -o default cargo
