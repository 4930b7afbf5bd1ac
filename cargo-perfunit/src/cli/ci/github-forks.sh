# Prepares the comment on a pull request, perhaps from a fork. The run that left the artifact has executed the code of the
# pull request, so the artifact may hold anything. It is data: a number that is checked, and a run that is rendered again.
refuse() {
  echo "::error::no comment: $1"
  exit 1
}
run=$ARTIFACT/run.json
for file in "$run" "$ARTIFACT/number"; do
  if [ ! -f "$file" ] || [ -L "$file" ]; then refuse "the artifact has no ${file##*/}"; fi
done
if [ "$(stat -c %s "$run")" -gt 100000000 ]; then refuse "run.json is larger than 100 MB"; fi
number=$(head -c 12 "$ARTIFACT/number" | tr -c '0-9\n' x)
if [[ ! $number =~ ^[1-9][0-9]{0,9}$ ]]; then refuse "the artifact does not name a pull request"; fi
head=$(gh api "repos/$GITHUB_REPOSITORY/pulls/$number" --jq .head.sha) || refuse "pull request $number is not known"
if [ "$head" != "$HEAD_SHA" ]; then
  echo "::notice::no comment: pull request $number is not at $HEAD_SHA, the commit that was measured"
  exit 0
fi
# Outside of a project: no configuration of the pull request counts.
cd "$RUNNER_TEMP"
cargo perfunit report --quiet --run "$run" --format markdown --output comment.md || refuse "run.json cannot be read"
summary=$(cargo perfunit report --run "$run" --format short | tail -n 1)
if [[ ! $summary =~ ^summary\ verdict=([a-z-]+)\  ]]; then refuse "the run has no verdict"; fi
{
  echo "number=$number"
  echo "verdict=${BASH_REMATCH[1]}"
  echo "report=$RUNNER_TEMP/comment.md"
} >> "$GITHUB_OUTPUT"
