openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 365 -subj '/O=Lab/CN=localhost' 2>/dev/null
mkdir site
echo '<title>Lab</title>' >site/index.html
cat >conf <<END
daemon off;
pid $D/pid;
error_log stderr;
events {}
http {
 access_log off;
 client_body_temp_path $D/body;
 server {
  listen 80;
  listen 443 ssl;
  ssl_certificate cert;
  ssl_certificate_key key;
  root $D/site;
 }
}
END
exec nginx -p "$D" -c "$D/conf" -e stderr
