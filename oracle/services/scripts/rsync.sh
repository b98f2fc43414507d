mkdir files
echo hello >files/hello.txt
printf 'use chroot=no\n[files]\npath=%s/files\ncomment=All files\n' $D >conf
exec rsync --daemon --no-detach --config=$D/conf
