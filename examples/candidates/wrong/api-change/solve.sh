set -eu
cp /fairtrial/candidate/plane.py /fairtrial/candidate/route.py "$1/geo/"
cp /fairtrial/candidate/package.py "$1/geo/__init__.py"
echo "wrote geo/"
