package services_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/jstest"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/services"
)

func TestOpenSSH(t *testing.T) {
	binary, keygen := jstest.Tool(t, "sshd"), jstest.Tool(t, "ssh-keygen")
	folder := jstest.Folder(t)
	key := filepath.Join(folder, "key")
	if out, err := exec.Command(keygen, "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if os.Getuid() == 0 { // it wants its empty folder
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Skip(err)
		}
	}
	at, port := jstest.Port(t)
	jstest.Start(t, at, exec.Command(binary, "-D", "-e", "-f", "/dev/null", "-h", key, "-o", "ListenAddress=127.0.0.1",
		"-p", port, "-o", "PidFile=none", "-o", "KexAlgorithms=+diffie-hellman-group14-sha1", "-o", "KbdInteractiveAuthentication=no"))
	const client = "const r = m.SSHClient().ConnectSSHInfoMode(H, P); "
	for _, c := range []struct{ source, want string }{
		{"r.ServerID.ProtoVersion + r.ServerID.SoftwareVersion", "2.0OpenSSH_"},
		{"r.ServerKex.KexAlgos.includes('diffie-hellman-group14-sha1') && r.ServerKex.MACsServerClient.length > 1", "true"},
		{"r.UserAuth.join()", "publickey,password"},
		{"r.AlgorithmSelection.HostKey + r.AlgorithmSelection.W.Cipher.length", "rsa-sha2-"},
		{"const j = JSON.parse(JSON.stringify(r)); [j.DHKeyExchange.server_host_key.rsa_public_key.length, " +
			"j.ServerKex.kex_algorithms.length > 2, j.ServerKex.serverHaSSH.length, j.AlgorithmSelection.dh_kex_algorithm, " +
			"j.ClientKex]", "2048,true,32,"},
	} {
		jstest.Check{Module: services.SSH, Address: at, Source: client + c.source, Want: c.want}.Run(t)
	}
}

func TestRsyncDaemon(t *testing.T) {
	binary := jstest.Tool(t, "rsync")
	folder := jstest.Folder(t)
	for name, text := range map[string]string{
		"conf": fmt.Sprintf("[files]\npath = %s/data\ncomment = Some files\nuse chroot = no\n"+
			"[backup]\npath = %[1]s/data\nuse chroot = no\nauth users = ann\nsecrets file = %[1]s/secrets\nstrict modes = no\n", folder),
		"secrets":     "ann:wonder\n",
		"backup.conf": "",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("long", 40)
	if err := errors.Join(os.MkdirAll(filepath.Join(folder, "data", "sub", long), 0o755),
		os.WriteFile(filepath.Join(folder, "data", "hello"), []byte("hello"), 0o644),
		os.WriteFile(filepath.Join(folder, "data", "sub", long, long+"2"), nil, 0o600),
		os.Truncate(filepath.Join(folder, "data", "hello"), 3<<30), // a size of more than 31 bits
		os.Symlink("hello", filepath.Join(folder, "data", "link"))); err != nil {
		t.Fatal(err)
	}
	at, port := jstest.Port(t)
	server := exec.Command(binary, "--daemon", "--no-detach", "--address=127.0.0.1", "--port="+port, "--config="+filepath.Join(folder, "conf"))
	server.SysProcAttr = jstest.Unprivileged(t, folder)
	jstest.Start(t, at, server)
	for _, c := range []struct{ source, want string }{
		{"JSON.stringify(m.IsRsync(H, P))", `{"IsRsync":true,"Banner":"3`},
		{"m.RsyncClient().ListModules(H, P, '', '').Modules.join()", "files,backup"},
		{"m.RsyncClient().ListModules(H, P, '', '').Output", "files          \tSome files\n"},
		{"m.RsyncClient().ListFilesInModule(H, P, '', '', 'files').Files.join()",
			".,hello,link,sub,sub/" + long + ",sub/" + long + "/" + long + "2"},
		{"m.RsyncClient().ListFilesInModule(H, P, 'ann', 'wonder', 'backup').Files.length", "6"},
		{"m.RsyncClient().ListFilesInModule(H, P, 'ann', 'wrong', 'backup')", "error the module is not opened: @ERROR: auth failed"},
		{"m.RsyncClient().ListFilesInModule(H, P, '', '', 'none')", "error the module is not opened: @ERROR: Unknown module"},
		{"m.RsyncClient().ListFilesInModule(H, P, '', '', 'a\\nb')", "error \"a\\nb\" is no name of a module"},
	} {
		jstest.Check{Module: services.Rsync, Address: at, Source: c.source, Want: c.want}.Run(t)
	}
}

func TestTigerVNC(t *testing.T) {
	binary, maker := jstest.Tool(t, "Xtigervnc"), jstest.Tool(t, "tigervncpasswd")
	for _, security := range []string{"VncAuth", "None"} {
		folder := jstest.Folder(t)
		secret := filepath.Join(folder, "secret")
		making := exec.Command(maker, "-f")
		making.Stdin = strings.NewReader("toor12\n")
		out, err := making.Output()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(secret, out, 0o600); err != nil {
			t.Fatal(err)
		}
		at, port := jstest.Port(t)
		server := exec.Command(binary, ":"+port, "-rfbport", port, "-localhost", "-nolisten", "unix", "-SecurityTypes", security,
			"-PasswordFile", secret, "-geometry", "64x64")
		server.Dir, server.Env = folder, append(os.Environ(), "HOME="+folder)
		server.SysProcAttr = jstest.Unprivileged(t, folder)
		jstest.Start(t, at, server)
		wrong := map[string]string{"VncAuth": "false", "None": "true"}[security]
		for _, c := range []struct{ source, want string }{
			{"JSON.stringify(m.IsVNC(H, P))", `{"IsVNC":true,"Banner":"003.008"}`},
			{"m.VNCClient().Connect(H, P, 'toor12')", "true"},
			{"m.VNCClient().Connect(H, P, 'wrong')", wrong},
		} {
			jstest.Check{Module: services.VNC, Address: at, Source: c.source, Want: c.want}.Run(t)
		}
	}
}

// mailServer is one that takes mail for anybody, and tells what it got.
func mailServer(t *testing.T, relays bool, got chan<- string) string {
	return jstest.Serve(t, func(c net.Conn) {
		fmt.Fprint(c, "220 mail ESMTP\r\n")
		in, data := bufio.NewReader(c), ""
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			switch word := strings.ToUpper(line[:4]); {
			case word == "EHLO":
				fmt.Fprint(c, "250-mail\r\n250 AUTH PLAIN\r\n")
			case word == "RCPT" && !relays:
				fmt.Fprint(c, "554 relay access denied\r\n")
			case word == "AUTH":
				data += line
				fmt.Fprint(c, "235 ok\r\n")
			case word == "DATA":
				fmt.Fprint(c, "354 go on\r\n")
				for line != ".\r\n" {
					if line, err = in.ReadString('\n'); err != nil {
						return
					}
					data += line
				}
				fmt.Fprint(c, "250 ok\r\n")
				got <- data
			case word == "QUIT":
				fmt.Fprint(c, "221 bye\r\n")
				return
			default:
				fmt.Fprint(c, "250 ok\r\n")
			}
		}
	})
}

func TestSMTP(t *testing.T) {
	got := make(chan string, 4)
	open, closed := mailServer(t, true, got), mailServer(t, false, got)
	const script = "const c = m.Client(H, P), g = new m.SMTPMessage(); g.From('a@x.test').To('b@y.test').Subject('S').Body('text'); "
	for _, c := range []struct{ at, source, want string }{
		{open, "JSON.stringify(c.IsSMTP())", `{"IsSMTP":true,"Banner":"220 mail ESMTP"}`},
		{open, "c.IsOpenRelay(g)", "true"},
		{closed, "c.IsOpenRelay(g)", "error 554"},
		{open, "c.SendMail(g.Auth('u', 'p'))", "true"},
		{open, "g.To('c@y.test'); c.IsOpenRelay(g)", "error invalid number of recipients"},
		{open, "c.IsOpenRelay({})", "error the message is no SMTPMessage"},
		{open, "g.From('a@x.test>\\r\\nRCPT TO:<x@z.test'); c.IsOpenRelay(g)", "error smtp: A line must not contain"},
		{open, "g.String()", "To: b@y.test\r\nSubject: S\r\n\r\ntext"},
	} {
		jstest.Check{Module: services.SMTP, Address: c.at, Source: script + c.source, Want: c.want}.Run(t)
	}
	for _, want := range []string{"To: b@y.test\r\nSubject: S\r\n\r\ntext\r\n.\r\n", "AUTH PLAIN AHUAcA==\r\nTo: b@y.test"} {
		select {
		case text := <-got:
			if !strings.HasPrefix(text, want) {
				t.Errorf("%q, want %q", text, want)
			}
		default:
			t.Errorf("nothing was sent, want %q", want)
		}
	}
}

func TestTelnet(t *testing.T) {
	at := jstest.Serve(t, func(c net.Conn) {
		fmt.Fprint(c, "\xff\xfd\x18\xff\xfd\x26\xff\xfa\x18\x01\xff\xf0Debian\r\nlogin: ")
		in := bufio.NewReader(c)
		var lines []string
		for len(lines) < 2 {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			lines = append(lines, strings.TrimSpace(line))
			fmt.Fprint(c, "Password: ")
		}
		// The refusals of both options come before the name.
		if lines[0] == "\xff\xfc\x18\xff\xfc\x26root" && lines[1] == "toor" {
			fmt.Fprint(c, "\r\nWelcome\r\n# ")
		} else {
			fmt.Fprint(c, "\r\nLogin incorrect\r\nlogin: ")
		}
		_, _ = io.Copy(io.Discard, c)
	})
	endless := jstest.Serve(t, func(c net.Conn) {
		fmt.Fprint(c, "\xff\xfd\x18"+strings.Repeat("x", 100_000))
		_, _ = io.Copy(io.Discard, c)
	})
	for _, c := range []struct{ at, source, want string }{
		{at, "const r = m.IsTelnet(H, P); r.IsTelnet + r.Banner", "truefffd18fffd26fffa1801fff0"},
		{at, "m.TelnetClient().Connect(H, P, 'root', 'toor')", "true"},
		{at, "m.TelnetClient().Connect(H, P, 'root', 'wrong')", "error authentication failed"},
		{at, "m.TelnetClient().Connect(H, P, '', '')", "true"},
		{at, "const r = m.TelnetClient().Info(H, P); [r.SupportsEncryption, JSON.stringify(r.Options)]", `true,{"24":[253,250],"38":[253]}`},
		{endless, "m.TelnetClient().Connect(H, P, 'root', 'toor')", "error waiting for the question for a name: the server says too much"},
		{at, "[m.IAC, m.WILL, m.ENCRYPT]", "255,251,38"},
	} {
		jstest.Check{Module: services.Telnet, Address: c.at, Source: c.source, Want: c.want}.Run(t)
	}
}

func TestOracle(t *testing.T) {
	refusal := "(DESCRIPTION=(TMP=)(VSNNUM=352321536)(ERR=12514)(ERROR_STACK=(ERROR=(CODE=12514)(EMFI=4))))"
	at := jstest.Answer(t, "\x00\x67\x00\x00\x04\x00\x00\x00\x22\x00\x00\x5b"+refusal)
	other := jstest.Answer(t, "220 hello\r\n")
	for _, c := range []struct{ at, source, want string }{
		{at, "JSON.stringify(m.OracleClient().IsOracle(H, P))",
			`{"IsOracle":true,"Banner":"map[ERROR_CODE:12514 Oracle TNS Listener Version:21.0.0.0.0 VSNNUM:352321536]"}`},
		{other, "m.OracleClient().IsOracle(H, P).IsOracle", "false"},
		{at, "try { m.OracleClient().Connect(H, P, 'XE', 'u', 'p') } catch (e) {} 1", "error oracle.OracleClient.Connect is not supported"},
	} {
		jstest.Check{Module: services.Oracle, Address: c.at, Source: c.source, Want: c.want}.Run(t)
	}
}

func TestIKEv2(t *testing.T) {
	source := `const g = new m.IKEMessage(), n = new m.IKENonce(), t = new m.IKENotification();
		g.InitiatorSPI = 0x0102; g.Version = m.IKE_VERSION_2; g.ExchangeType = m.IKE_EXCHANGE_SA_INIT; g.Flags = 8;
		n.NonceData = [1, 2, 3]; t.NotifyMessageType = m.IKE_NOTIFY_USE_TRANSPORT_MODE;
		g.AppendPayload(n); g.AppendPayload(t); try { g.AppendPayload({}) } catch (e) {}
		Array.from(g.Encode()).map(b => b.toString(16).padStart(2, '0')).join('')`
	want := "0000000000000102" + "0000000000000000" + "28202208" + "00000000" + "0000002b" + // the header
		"29000007" + "010203" + "00000008" + "00004007"
	jstest.Check{Module: services.IKEv2, Address: "127.0.0.1:1", Source: source, Want: want}.Run(t)
}
