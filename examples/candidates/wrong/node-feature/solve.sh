set -eu
cat /fairtrial/candidate/from-roman.js >> "$1/src/roman.js"
echo "added fromRoman to src/roman.js"
