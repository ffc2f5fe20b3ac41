set -eu
mkdir -p "$1/tests"
cp /fairtrial/candidate/test_account.py "$1/tests/"
echo "wrote tests/test_account.py"
