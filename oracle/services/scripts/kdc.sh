# A domain controller of LAB.TEST, as root: krb5kdc is started without becoming a service.
cat >krb5.conf <<END
[libdefaults]
default_realm = LAB.TEST
allow_rc4 = true
permitted_enctypes = aes256-cts rc4-hmac
END
cat >kdc.conf <<END
[kdcdefaults]
kdc_listen = 0.0.0.0:88
kdc_tcp_listen = 0.0.0.0:88
[realms]
LAB.TEST = {
database_name = $D/db
key_stash_file = $D/stash
acl_file = $D/acl
supported_enctypes = aes256-cts:normal arcfour-hmac:normal
}
[logging]
kdc = STDERR
END
export KRB5_CONFIG=$D/krb5.conf KRB5_KDC_PROFILE=$D/kdc.conf
kdb5_util create -s -r LAB.TEST -P master >/dev/null
printf 'addprinc -pw Summer-1 +requires_preauth alice\naddprinc -pw Winter-1 bob\naddprinc -randkey HTTP/web.lab.test\n' |
	kadmin.local -r LAB.TEST >/dev/null
exec krb5kdc -n -r LAB.TEST
