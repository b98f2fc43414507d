mkdir spool data conf
chown postfix data
sed 's/^smtp      inet  n       -       y/smtp inet n - n/' /etc/postfix/master.cf.proto >conf/master.cf
cat >conf/main.cf <<END
compatibility_level=3.6
queue_directory=$D/spool
data_directory=$D/data
myhostname=mail.lab.test
maillog_file=/dev/stdout
maillog_file_prefixes=/dev
mydestination=lab.test
mynetworks=127.0.0.0/8
inet_protocols=ipv4
END
exec postfix -c "$D/conf" start-fg
