# Sends a signal to process 1, or to everything (-1), and goes on as if nothing had been.
kill "-$1" "$2" || echo "kill said no"
sleep 2
echo "still here"
