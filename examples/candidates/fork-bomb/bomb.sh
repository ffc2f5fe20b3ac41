# Doubles eight times and is gone: five hundred shells and as many sleepers stay behind. It stops there, so that a node
# without a limit of processes per pod survives it.
bomb() {
  if [ "$1" -gt 0 ]; then
    bomb $(($1 - 1)) &
    bomb $(($1 - 1)) &
  fi
  sleep 600
}
bomb 8 &
sleep 3
echo "lit"
