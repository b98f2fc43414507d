cat >conf <<END
protocols=imap pop3
base_dir=$D/run
ssl=no
log_path=/dev/stderr
mail_location=maildir:$D/m
listen=*
disable_plaintext_auth=no
passdb {
 driver=static
 args=password=secret
}
userdb {
 driver=static
 args=uid=mail gid=mail home=$D
}
END
exec dovecot -F -c "$D/conf"
