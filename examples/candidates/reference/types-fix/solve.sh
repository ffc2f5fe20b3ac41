set -eu
cp /fairtrial/candidate/items.py /fairtrial/candidate/shelf.py "$1/stock/"
echo "wrote stock/items.py and stock/shelf.py"
