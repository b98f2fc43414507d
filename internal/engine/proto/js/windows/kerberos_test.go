package windows_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/jstest"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/windows"
)

// kdc is the address of a domain controller of LAB.EXAMPLE with the user alice, whose password is Summer-1, bob, who
// needs none to get a ticket, and the service HTTP/web.lab.example.
func kdc(t *testing.T) string {
	server, make, admin := jstest.Tool(t, "krb5kdc"), jstest.Tool(t, "kdb5_util"), jstest.Tool(t, "kadmin.local")
	folder := jstest.Folder(t)
	at, _ := jstest.Port(t)
	files := map[string]string{
		"krb5.conf": "[libdefaults]\ndefault_realm = LAB.EXAMPLE\nallow_rc4 = true\npermitted_enctypes = aes256-cts rc4-hmac\n",
		"kdc.conf": fmt.Sprintf("[kdcdefaults]\nkdc_listen = %[2]s\nkdc_tcp_listen = %[2]s\n[realms]\nLAB.EXAMPLE = {\n"+
			"database_name = %[1]s/db\nkey_stash_file = %[1]s/stash\nacl_file = %[1]s/acl\n"+
			"supported_enctypes = aes256-cts:normal arcfour-hmac:normal\n}\n"+
			"[logging]\nkdc = STDERR\n", folder, at),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "KRB5_CONFIG="+folder+"/krb5.conf", "KRB5_KDC_PROFILE="+folder+"/kdc.conf")
	run := func(in, name string, args ...string) {
		command := exec.Command(name, args...)
		command.Env, command.Stdin = env, strings.NewReader(in)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	run("", make, "create", "-s", "-r", "LAB.EXAMPLE", "-P", "master")
	run("addprinc -pw Summer-1 +requires_preauth alice\naddprinc -pw Winter-1 bob\naddprinc -randkey HTTP/web.lab.example\n",
		admin, "-r", "LAB.EXAMPLE")
	command := exec.Command(server, "-n", "-r", "LAB.EXAMPLE")
	command.Env = env
	jstest.Start(t, at, command)
	return at
}

func TestKerberos(t *testing.T) {
	at := kdc(t)
	const client = "const c = new m.Client('lab.example', H + ':' + P); "
	for _, c := range []struct{ source, want string }{
		{"c.Realm", "LAB.EXAMPLE"},
		{"const r = c.EnumerateUser('alice'); [r.Valid, r.Error, r.ASREPHash]",
			"true,(25) KDC_ERR_PREAUTH_REQUIRED Additional pre-authentication required,"},
		{"c.EnumerateUser('bob').ASREPHash", "$krb5asrep$18$bob@LAB.EXAMPLE:"},
		{"JSON.stringify(c.EnumerateUser('nobody'))",
			`{"Valid":false,"ASREPHash":"","Error":"(6) KDC_ERR_C_PRINCIPAL_UNKNOWN Client not found in Kerberos database"}`},
		{"c.GetServiceTicket('alice', 'Summer-1', 'HTTP/web.lab.example').Hash",
			"$krb5tgs$18$*LAB.EXAMPLE$LAB.EXAMPLE$HTTP/web.lab.example*$"},
		{"c.GetServiceTicket('bob', 'Winter-1', 'HTTP/web.lab.example').Ticket.SName.NameString", "HTTP,web.lab.example"},
		{"m.TGStoHashcat(c.GetServiceTicket('bob', 'Winter-1', 'HTTP/web.lab.example').Ticket, 'x')", "$krb5tgs$18$*x$LAB.EXAMPLE$"},
		{"c.GetServiceTicket('alice', 'wrong', 'HTTP/web.lab.example')", "error KRB Error: (24) KDC_ERR_PREAUTH_FAILED"},
		{"c.GetServiceTicket('bob', 'wrong', 'HTTP/web.lab.example')", "error "},
		{"c.GetServiceTicket('alice', 'Summer-1', 'HTTP/nowhere')", "error KRB Error: (7) KDC_ERR_S_PRINCIPAL_UNKNOWN"},
		{"c.GetServiceTicket('alice', '', 'HTTP/nowhere')", "error the password is empty"},
		{"const k = new m.Config().SetIPAddress(H).SetTimeout(5), d = m.NewKerberosClient('lab.example', 'dc.lab.example:' + P); " +
			"d.SetConfig(k); d.EnumerateUser('alice').Valid", "true"},
		{"new m.Client('lab.example', 'dc.lab.example:' + P).EnumerateUser('alice')", "error out of scope"},
		{"m.NewKerberosClientFromString('[libdefaults]\\ndefault_realm = LAB.EXAMPLE\\n[realms]\\nLAB.EXAMPLE = {\\nkdc = ' + " +
			"H + ':' + P + '\\n}\\n').EnumerateUser('alice').Valid", "true"},
		{"new m.Client('')", "error the domain is empty"},
		{"new m.Client('lab.example')", "error kerberos.Client without a domain controller is not supported yet"},
		{"c.SetConfig({})", "error the argument is no Config"},
		{"JSON.stringify(new m.TGS())", `{"Ticket":{},"Hash":"","ErrMsg":""}`},
	} {
		jstest.Check{Module: windows.Kerberos, Address: at, Source: client + c.source, Want: c.want}.Run(t)
	}
	const roast = "const r = { Username: 'bob', Password: 'Winter-1', Domain: 'lab.example', KDCHost: H + ':' + P, " +
		"SPN: 'HTTP/web.lab.example' }; "
	for _, c := range []struct{ source, want string }{
		{"m.ASRepRoast(r)", "$krb5asrep$23$bob@LAB.EXAMPLE:"},
		{"r.Format = 'john'; m.ASRepRoast(r)", "$krb5asrep$bob@LAB.EXAMPLE:"},
		{"r.Format = 'text'; m.ASRepRoast(r)", "error the Format \"text\" is neither hashcat nor john"},
		{"r.Username = 'alice'; m.ASRepRoast(r)", "error KRB Error: (25) KDC_ERR_PREAUTH_REQUIRED"},
		{"const t = m.Kerberoast(r); t.Username + t.EType + t.Hash.slice(0, 54)", "bob18$krb5tgs$18$bob$LAB.EXAMPLE$*HTTP/web.lab.example*$"},
		{"r.NTHash = '00'; m.Kerberoast(r)", "error krbroast.Kerberoast with NTHash is not supported yet"},
		{"r.Password = ''; m.Kerberoast(r)", "error Password is empty"},
		{"m.Kerberoast({ Username: 'bob', Domain: 'd', KDCHost: H })", "error SPN is empty"},
		{"JSON.stringify(new m.KerberoastResult())", `{"Username":"","SPN":"","Hash":"","EType":0}`},
	} {
		jstest.Check{Module: windows.KrbRoast, Address: at, Source: roast + c.source, Want: c.want}.Run(t)
	}
	silent := jstest.Check{Module: windows.Kerberos, Address: at, Source: client + "m.SendToKDC(c, 'nonsense')"}
	if got := silent.Result(t, 200*time.Millisecond); !strings.HasPrefix(got, "error ") {
		t.Error(got)
	}
}

// refusal is what a controller answers that wants keys of so many iterations: ETYPE-INFO2 (RFC 4120, 5.2.7.5) in
// PA-DATA in an error.
func refusal(t *testing.T, iterations uint32) string {
	t.Helper()
	n := string(binary.BigEndian.AppendUint32(nil, iterations))
	info := "\x30\x14\x30\x12" + "\xa0\x03\x02\x01\x12" + "\xa1\x03\x1b\x01s" + "\xa2\x06\x04\x04" + n
	e := messages.NewKRBError(types.NewPrincipalName(2, "krbtgt/L"), "L", errorcode.KDC_ERR_PREAUTH_REQUIRED, "")
	e.EData = []byte("\x30\x21\x30\x1f" + "\xa1\x03\x02\x01\x13" + "\xa2\x18\x04\x16" + info)
	b, err := e.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(b)))) + string(b)
}

// A controller that lies ends in an error, without the memory or the time that it asks for.
func TestHostileControllers(t *testing.T) {
	serve := func(answer string) string {
		return jstest.Serve(t, func(conn net.Conn) {
			if _, err := conn.Read(make([]byte, 4096)); err == nil {
				_, _ = conn.Write([]byte(answer))
			}
		})
	}
	const ask = "new m.Client('l', H + ':' + P).GetServiceTicket('u', 'p', 's')"
	for name, c := range map[string]struct{ answer, want string }{
		"2^32 iterations": {refusal(t, 0), "error the server wants 0 iterations"},
		"many iterations": {refusal(t, 1<<30), "error the server wants 1073741824 iterations"},
		"long":            {"\xff\xff\xff\xff", "error the answer is not one of Kerberos"},
		"nonsense":        {"\x00\x00\x00\x02hi", "error "},
		"cut":             {"\x00\x00\x00\x05h", "error unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := jstest.Check{Module: windows.Kerberos, Address: serve(c.answer), Source: ask}.Result(t, 500*time.Millisecond)
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("%.300s, want %s", got, c.want)
			}
		})
	}
}
