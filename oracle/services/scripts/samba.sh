mkdir p share
echo hello >share/hello.txt
cat >conf <<END
[global]
workgroup=LAB
netbios name=LABHOST
private dir=$D/p
lock directory=$D/p
state directory=$D/p
cache directory=$D/p
pid directory=$D/p
ncalrpc dir=$D/p/n
log file=$D/log
server min protocol=NT1
map to guest=Bad User
[public]
path=$D/share
guest ok=yes
END
exec /usr/sbin/smbd -F --no-process-group -s "$D/conf"
