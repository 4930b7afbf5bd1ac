comments="repos/$GITHUB_REPOSITORY/issues"
# One comment, changed with each push. It is known by its first line; none is made while nothing has changed.
mark='startswith("<!-- cargo-perfunit -->")'
id=$(gh api --paginate "$comments/$NUMBER/comments" --jq ".[] | select(.body | $mark) | .id" | head -n 1) || {
  echo "::notice::the token may not read comments: the step summary has the report"
  exit 0
}
if [ -n "$id" ]; then
  gh api --silent --method PATCH "$comments/comments/$id" --field "body=@$REPORT"
elif [ "$VERDICT" = slower ] || [ "$VERDICT" = accepted ] || [ "$VERDICT" = grows ] || [ "$VERDICT" = faster ]; then
  gh api --silent --method POST "$comments/$NUMBER/comments" --field "body=@$REPORT"
fi || echo "::notice::the token may not comment, as in pull requests from forks: the step summary has the report"
