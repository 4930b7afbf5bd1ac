# Compares a pull request with its base, or another version with what is named. On a push there is nothing to compare: it
# builds what pull requests will find in the cache.
options=(--profile "$PROFILE")
if [ -n "$MANIFEST" ]; then options+=(--manifest-path "$MANIFEST"); fi
# Words; the quotes of a shell mean nothing in them.
read -r -d '' -a more <<< "$ARGUMENTS" || true
if [ -z "$BASE" ] && [ "$GITHUB_EVENT_NAME" = push ]; then
  exec cargo perfunit list HEAD..HEAD --all-tests "${options[@]}"
fi
if [ -n "$BUDGET" ]; then options+=(--budget "$BUDGET"); fi
if [ -n "$BASE" ]; then
  versions=("$BASE" --head HEAD)
else
  # The base as it was when GitHub merged the pull request with it.
  versions=("HEAD^1..HEAD")
fi
kept=$RUNNER_TEMP/perfunit
code=0
cargo perfunit diff "${versions[@]}" "${options[@]}" --output "$kept" "${more[@]}" || code=$?
# A second workflow can comment on pull requests from forks. It gets the run, and the number to check.
if [ -f "$kept/run.json" ]; then printf '%s' "$NUMBER" > "$kept/number"; fi
exit "$code"
