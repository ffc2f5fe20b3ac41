set -eu
sed -i -e 's/^port = 8080$/port = 9090/' -e 's/^compress = no$/compress = yes/' "$1/service.ini"
echo "changed service.ini"
