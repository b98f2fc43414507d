package windows_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/jstest"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/windows"
)

func TestOpenLDAP(t *testing.T) {
	binary := jstest.Tool(t, "slapd")
	if _, err := os.Stat("/etc/ldap/schema/core.schema"); err != nil {
		t.Skip(err)
	}
	folder := jstest.Folder(t)
	conf := filepath.Join(folder, "conf")
	text := fmt.Sprintf("include /etc/ldap/schema/core.schema\npidfile %s/pid\ndatabase ldif\nsuffix \"dc=lab,dc=test\"\n"+
		"directory %[1]s\nrootdn \"cn=admin,dc=lab,dc=test\"\nrootpw toor\n", folder)
	text = "modulepath /usr/lib/ldap\n" + text
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	at, _ := jstest.Port(t)
	server := exec.Command(binary, "-d", "0", "-f", conf, "-h", "ldap://"+at)
	server.SysProcAttr = jstest.Unprivileged(t, folder)
	jstest.Start(t, at, server)
	const client = "const c = new m.Client('ldap://' + H + ':' + P, 'lab.test'); "
	for _, c := range []struct{ source, want string }{
		{"c.Authenticate('cn=admin,dc=lab,dc=test', 'toor')", "true"},
		{"c.Authenticate('cn=admin,dc=lab,dc=test', 'wrong')", "error LDAP Result Code 49"},
		{"const r = c.CollectMetadata(); [r.BaseDN, r.Domain, r.DnsHostName]", "dc=lab,dc=test,lab.test,"},
		{"c.GetVersion().join()", "3"},
		{"c.AdvancedSearch(0, 0, 0, 0, false, '(objectClass=*)', ['cn'], []).Entries", "error LDAP Result Code 32"},
		{"c.FindADObjects('(not a filter')", "error LDAP Result Code 201"},
	} {
		jstest.Check{Module: windows.LDAP, Address: at, Source: client + c.source, Want: c.want}.Run(t)
	}
}

func TestHostileLDAP(t *testing.T) {
	const script = "m.Client('ldap://' + H + ':' + P, 'lab.test').GetVersion().length"
	for name, answer := range map[string]string{
		"long": "\x30\x84\x7f\xff\xff\xff\x02", "open": "\x30\x80\x02\x01\x01", "http": "HTTP/1.1 400 Bad Request\r\n",
		"deep": "\x30\x82\x03\xe8" + strings.Repeat("\x30\x82\x03\x00", 250), "none": "",
	} {
		at := jstest.Serve(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			fmt.Fprint(c, answer)
			_, _ = c.Read(make([]byte, 4096))
		})
		got := jstest.Check{Module: windows.LDAP, Address: at, Source: script}.Result(t, 1e9)
		if !strings.HasPrefix(got, "error unable to read") && !strings.HasPrefix(got, "error LDAP Result Code 200") {
			t.Errorf("%s: %s", name, got)
		}
	}
	jstest.Check{Module: windows.LDAP, Address: "127.0.0.1:1", Source: `m.DecodeSID("\u0001\u0002\0\0\0\0\0\u0005\u0020\0\0\0\u0002\0\0\0")`,
		Want: "S-1-5-32-2"}.Run(t)
}
