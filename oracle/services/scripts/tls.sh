# NAME is the certificate's, DAYS how long it is valid, OPTIONS those of the server at PORT.
openssl req -newkey rsa:2048 -nodes -keyout key -out request -subj "/O=Lab/CN=$NAME" 2>/dev/null
printf 'subjectAltName=DNS:%s' "$NAME" >names
openssl x509 -req -in request -signkey key -days "$DAYS" -extfile names -out cert 2>/dev/null
exec openssl s_server -quiet -www -key key -cert cert -accept "$PORT" $OPTIONS
