if [ "$(git rev-parse --is-shallow-repository)" = true ]; then
    # The version to compare with must be in the history.
    git fetch --quiet --unshallow
fi
if [ "$(cargo perfunit --version 2> /dev/null)" != "cargo perfunit $version" ]; then
    { command -v cargo-binstall > /dev/null && cargo binstall --no-confirm --force "cargo-perfunit@$version"; } ||
        cargo install --locked --force "cargo-perfunit@$version" ||
        # Until this version is published.
        cargo install --locked --force --git @REPOSITORY@ cargo-perfunit
fi
