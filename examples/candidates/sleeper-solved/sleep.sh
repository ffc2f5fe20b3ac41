# Does what solve.py does, if there is one; then sleeps past every deadline and does not hear SIGTERM.
set -eu
trap 'echo "not now"' TERM
if [ -f /fairtrial/candidate/solve.py ]; then
  python3 /fairtrial/candidate/solve.py "$1"
fi
echo "thinking"
while :; do
  sleep 3600 || true
done
