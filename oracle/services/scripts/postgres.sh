chown postgres .
runuser -u postgres -- /usr/lib/postgresql/15/bin/initdb -D $D/data -A trust -U postgres >/dev/null
echo 'host all all 127.0.0.0/8 trust' >>data/pg_hba.conf
exec runuser -u postgres -- /usr/lib/postgresql/15/bin/postgres -D $D/data -k $D -p 5432 -c listen_addresses='*' -c fsync=off
