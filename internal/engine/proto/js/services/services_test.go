package services_test

import (
	"bufio"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/jstest"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/services"
)

type check struct {
	Module                jstest.Module
	Address, Source, Want string
}

func (c check) run(t *testing.T) {
	t.Helper()
	jstest.Check(c).Run(t)
}

// keyValue is a service that speaks as Redis does with the password "secret".
func keyValue(c net.Conn) {
	in := bufio.NewReader(c)
	allowed := false
	for {
		var n int
		if _, err := fmt.Fscanf(in, "*%d\r\n", &n); err != nil {
			return
		}
		words := make([]string, n)
		for i := range words {
			var size int
			if _, err := fmt.Fscanf(in, "$%d\r\n", &size); err != nil {
				return
			}
			line, _ := in.ReadString('\n')
			words[i] = strings.TrimSpace(line)
		}
		switch {
		case words[0] == "AUTH":
			if allowed = words[1] == "secret"; allowed {
				fmt.Fprint(c, "+OK\r\n")
			} else {
				fmt.Fprint(c, "-WRONGPASS invalid\r\n")
			}
		case !allowed:
			fmt.Fprint(c, "-NOAUTH Authentication required.\r\n")
		case words[0] == "INFO":
			fmt.Fprint(c, "$19\r\nredis_version:7.0\r\n\r\n")
		default:
			fmt.Fprint(c, "*4\r\n:7\r\n$-1\r\n*1\r\n+in\r\n-ERR x\r\n")
		}
	}
}

func TestRedis(t *testing.T) {
	at := jstest.Serve(t, keyValue)
	deep := jstest.Serve(t, func(c net.Conn) { fmt.Fprint(c, strings.Repeat("*1\r\n", 1000)); _, _ = c.Read(make([]byte, 99)) })
	wide := jstest.Serve(t, func(c net.Conn) { fmt.Fprint(c, "$999999999999\r\n"); _, _ = c.Read(make([]byte, 99)) })
	for _, c := range []check{
		{services.Redis, at, "m.GetServerInfoAuth(H, P, 'secret')", "redis_version:7.0"},
		{services.Redis, at, "m.Connect(H, P, 'secret')", "true"},
		{services.Redis, at, "m.Connect(H, P, 'wrong')", "error WRONGPASS"},
		{services.Redis, at, "m.GetServerInfo(H, P)", "error NOAUTH"},
		{services.Redis, at, "m.IsAuthenticated(H, P)", "true"},
		{services.Redis, at, "JSON.stringify(m.RunLuaScript(H, P, 'secret', 'return 1'))", `[7,null,["in"],"ERR x"]`},
		{services.Redis, at, "m.Connect('192.0.2.1', P, '')", "error out of scope"},
		{services.Redis, deep, "m.GetServerInfo(H, P)", "error the answer of Redis is too large"},
		{services.Redis, wide, "m.GetServerInfo(H, P)", "error the answer is not one of Redis"},
	} {
		c.run(t)
	}
}

func TestPOP3(t *testing.T) {
	says := func(greeting, refusal string) string {
		return jstest.Serve(t, func(c net.Conn) {
			fmt.Fprint(c, greeting)
			if line, _ := bufio.NewReader(c).ReadString('\n'); line != "" {
				fmt.Fprint(c, refusal)
			}
		})
	}
	for _, c := range []struct{ at, want string }{
		{says("+OK ready\r\n", "-ERR what\r\n"), `{"IsPOP3":true,"Banner":"ready\r\n"}`},
		{says("+OK\r\n", "-ERR\r\n"), `{"IsPOP3":true,"Banner":"\r\n"}`},
		{says("+OK ready\r\n", "+OK that too\r\n"), `{"IsPOP3":false,"Banner":""}`},
		{says("220 ready\r\n", "-ERR what\r\n"), `{"IsPOP3":false,"Banner":""}`},
	} {
		check{services.POP3, c.at, "JSON.stringify(m.IsPOP3(H, P))", c.want}.run(t)
	}
}

// shell is a server that lets root in with "toor" and answers each command with its text.
func shell(t *testing.T) string {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &ssh.ServerConfig{PasswordCallback: func(c ssh.ConnMetadata, p []byte) (*ssh.Permissions, error) {
		if c.User() != "root" || string(p) != "toor" {
			return nil, errors.New("no")
		}
		return nil, nil //nolint:nilnil // no permissions are needed
	}}
	cfg.AddHostKey(signer)
	return jstest.Serve(t, func(c net.Conn) {
		_, channels, requests, err := ssh.NewServerConn(c, cfg)
		if err != nil {
			return
		}
		go ssh.DiscardRequests(requests)
		for offered := range channels {
			channel, asked, err := offered.Accept()
			if err != nil {
				return
			}
			for r := range asked {
				var command struct{ Text string }
				_ = ssh.Unmarshal(r.Payload, &command)
				_ = r.Reply(true, nil)
				fmt.Fprint(channel, "ran "+command.Text)
				_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{0}))
				_ = channel.Close()
			}
		}
	})
}

func TestSSH(t *testing.T) {
	at := shell(t)
	const client = "const c = m.SSHClient(); c.SetTimeout(5); "
	for source, want := range map[string]string{
		"c.Connect(H, P, 'root', 'toor') + c.Run('id') + c.Close()": "trueran idtrue",
		"c.Connect(H, P, 'root', 'wrong')":                          "error ssh: handshake failed: ssh: unable to authenticate",
		"c.ConnectWithKey(H, P, 'root', 'no key')":                  "error ssh: no key found",
		"c.Run('id')": "error not connected",
		"const r = c.ConnectSSHInfoMode(H, P); r.ServerKex.CiphersClientServer.includes('aes128-ctr') && r.UserAuth.join()": "password",
	} {
		check{services.SSH, at, client + source, want}.run(t)
	}
}
