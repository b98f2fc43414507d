mkdir -p /var/run/vsftpd/empty pub
cat >conf <<END
listen=YES
background=NO
anonymous_enable=YES
no_anon_password=YES
anon_root=$D/pub
secure_chroot_dir=/var/run/vsftpd/empty
xferlog_enable=NO
seccomp_sandbox=NO
END
exec vsftpd "$D/conf"
