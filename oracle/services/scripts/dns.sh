cat >zone <<'END'
$ORIGIN lab.test.
@ 300 IN SOA ns hostmaster 1 2 3 4 300
@ IN NS ns
ns IN A 127.0.0.1
@ IN A 127.0.0.1
@ IN AAAA ::1
@ IN MX 10 mail
mail IN A 127.0.0.1
@ IN TXT "v=spf1 include:a.lab.test include:spf.mail.lab.test -all"
_dmarc IN TXT "v=DMARC1; p=none"
@ IN CAA 0 issue "ca.lab.test"
www IN CNAME lab.test.
dangling IN CNAME gone.azurewebsites.net.
_443._tcp IN TLSA 3 1 1 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881
ec2 IN CNAME ec2-1-2-3-4.compute-1.amazonaws.com.
*.wild IN A 127.0.0.1
_sip._tcp IN SRV 1 2 5060 ns
many IN TXT "one"
many IN TXT "two"
google IN TXT "google-site-verification=abcdefghijklmnopqrstuvwxyz0123456789"
END
cat >back <<'END'
1.0.0.127.in-addr.arpa. 300 IN SOA ns.lab.test. h.lab.test. 1 2 3 4 5
1.0.0.127.in-addr.arpa. 300 IN NS ns.lab.test.
1.0.0.127.in-addr.arpa. 300 IN PTR host.lab.test.
END
cat >conf <<END
server:
 ip-address: 0.0.0.0
 zonesdir: $D
 username: ""
 database: ""
 pidfile: $D/pid
 xfrdfile: ""
 zonelistfile: $D/list
 xfrdir: $D
zone:
 name: lab.test
 zonefile: zone
 provide-xfr: 127.0.0.0/8 NOKEY
zone:
 name: 1.0.0.127.in-addr.arpa
 zonefile: back
END
exec nsd -d -c "$D/conf"
