mariadb-install-db --no-defaults --user=root --datadir=$D/data --auth-root-authentication-method=normal >/dev/null 2>&1
exec mariadbd --no-defaults --user=root --datadir=$D/data --socket=$D/s --pid-file=$D/p --port=3306 --bind-address=0.0.0.0
