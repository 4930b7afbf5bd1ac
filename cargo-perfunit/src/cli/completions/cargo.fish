
# `cargo perfunit X` is completed as `cargo-perfunit X`.
function __fish_cargo_perfunit_words --description 'The words behind `cargo perfunit`; fails for another subcommand'
    set -l words (commandline -opc)
    # A toolchain may stand before the subcommand.
    if string match -q '+*' -- $words[2]
        set -e words[2]
    end
    test "$words[2]" = perfunit; or return 1
    string escape -- $words[3..]
    return 0
end

function __fish_cargo_perfunit_complete
    complete --do-complete (string join ' ' -- cargo-perfunit (__fish_cargo_perfunit_words) (commandline -ct))
end

complete --command cargo --condition '__fish_cargo_perfunit_words > /dev/null' --no-files --arguments '(__fish_cargo_perfunit_complete)'
