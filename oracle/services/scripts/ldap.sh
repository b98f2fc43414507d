mkdir data
cat >conf <<END
include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile $D/pid
database mdb
suffix "dc=lab,dc=test"
rootdn "cn=admin,dc=lab,dc=test"
rootpw secret
directory $D/data
END
printf 'dn: dc=lab,dc=test\nobjectClass: dcObject\nobjectClass: organization\no: Lab\ndc: lab\n' >base
slapadd -f conf -l base
exec slapd -f "$D/conf" -h ldap://0.0.0.0:389 -d 0
