if [ "$(git rev-parse --is-shallow-repository)" = true ]; then
    # The version to compare with must be in the history.
    git fetch --quiet --unshallow
fi
if [ "$(cargo perfunit --version 2> /dev/null)" != "cargo perfunit $version" ]; then
    if command -v cargo-binstall > /dev/null; then
        cargo binstall --no-confirm --force "cargo-perfunit@$version"
    else
        cargo install --locked --force "cargo-perfunit@$version"
    fi
fi
