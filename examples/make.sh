#!/usr/bin/env bash
# Makes one of the example projects with its history of two commits: examples/make.sh STORY FOLDER
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# A fixture of the tests is a story too: quarter-slower, improvement, ...
for stories in "$here" "$here/../tests/fixtures"; do
    story="$stories/${1:-}"
    if [[ $# == 2 && -n $1 && -f "$story/case.toml" ]]; then break; fi
    story=
done
if [[ -z $story ]]; then
    echo "usage: $0 STORY FOLDER, where STORY is one of" >&2
    (cd "$here" && ls -d -- */ | tr -d /) >&2
    exit 2
fi
folder=$2
if [[ -e $folder && -n $(ls -A "$folder") ]]; then
    echo "$folder is not empty" >&2
    exit 2
fi

copy() {
    cp -R "$story/$1/." "$folder"
    # Manifests are disarmed in our own repository, where cargo must not take them for its packages.
    find "$folder" -name .git -prune -o -name '*.fixture' -print | while read -r file; do
        sed "s|@REPOSITORY@|$(dirname "$here")|" "$file" > "${file%.fixture}"
        rm "$file"
    done
    git -C "$folder" add -A
    git -C "$folder" -c user.name=Example -c user.email=example@example.org commit -q -m "$2"
}

git init -q "$folder"
printf '/target\n/Cargo.lock\n' > "$folder/.gitignore"
if [[ -d "$story/base/src" ]]; then
    printf '[package]\nname = "%s"\nversion = "0.1.0"\nedition = "2021"\n' "$1" > "$folder/Cargo.toml"
fi
copy base "The version to compare with"
copy head "$(sed -n 's/^purpose = "\(.*\)"$/\1/p' "$story/case.toml")"
echo "made $folder; now: cd $folder && cargo perfunit diff HEAD~1"
