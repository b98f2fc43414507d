mkdir -p /run/sshd
ssh-keygen -q -t ed25519 -N '' -f key
ssh-keygen -q -t rsa -b 2048 -N '' -f rsa
exec /usr/sbin/sshd -D -e -f /dev/null -p 22 -h $D/key -h $D/rsa -o PidFile=none -o UsePAM=no -o PasswordAuthentication=yes
