# That of rust-toolchain.toml, where there is such a file.
rustup toolchain install || rustup toolchain install stable --profile minimal
echo "key=$(rustc -vV | sha256sum | cut -c 1-16)" >> "$GITHUB_OUTPUT"
