# It counts instructions. Without it changes below 2 % are inconclusive.
if ! command -v valgrind > /dev/null && command -v apt-get > /dev/null; then
  { sudo apt-get update -q && sudo apt-get install -qy valgrind; } || echo "::warning::valgrind cannot be installed"
fi
