package sshkey

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func setUp(t *testing.T, d *db.DB) (ks *Keys, alice, bob context.Context) {
	t.Helper()
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := account.Open(t.Context(), d, account.Config{Region: "us"})
	if err != nil {
		t.Fatal(err)
	}
	person := func(email string) context.Context {
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Team: "blue"})
		if err != nil {
			t.Fatal(err)
		}
		return account.WithCaller(t.Context(), account.Caller{UserID: u.ID, Email: u.Email, TeamID: u.TeamID, Role: account.Admin})
	}
	return New(d, box), person("alice@example.com"), person("bob@example.com")
}

// server is an sshd of Debian's that lets the present user in with some keys.
type server struct {
	address string
	folder  string
	stop    func()
}

// startSSHD starts sshd with a new host key on a free port, or on that of an earlier one.
func startSSHD(t *testing.T, port string, keys ...Key) server {
	t.Helper()
	sshd, err := exec.LookPath("/usr/sbin/sshd")
	if err != nil {
		t.Skip("there is no sshd")
	}
	dir := t.TempDir()
	if os.Getuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Skip("sshd cannot run here:", err)
		}
	}
	if port == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ = net.SplitHostPort(l.Addr().String())
		l.Close()
	}
	var lines []string
	for _, k := range keys {
		lines = append(lines, k.PublicKey)
	}
	files := map[string]string{"authorized": strings.Join(lines, "\n") + "\n"}
	files["config"] = fmt.Sprintf("Port %s\nListenAddress 127.0.0.1\nHostKey %s/host\nAuthorizedKeysFile %s/authorized\nStrictModes no\nUsePAM no\n"+
		"PasswordAuthentication no\nPermitRootLogin yes\nPidFile none\n"+
		"SetEnv SHLVL=1\n", // else bash reads what this machine has in .bashrc, and its words are in the answer
		port, dir, dir)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, "host")).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	cmd := exec.Command(sshd, "-D", "-e", "-f", filepath.Join(dir, "config"))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(stop)
	said := bufio.NewScanner(stderr)
	var log []string
	for said.Scan() {
		log = append(log, said.Text())
		if strings.Contains(said.Text(), "Server listening") {
			go func() {
				for said.Scan() {
				}
			}()
			return server{"127.0.0.1:" + port, dir, stop}
		}
	}
	t.Skip("sshd does not run here:", strings.Join(log, "; "))
	return server{}
}

func run(t *testing.T, ks *Keys, ctx context.Context, k Key, address, name, command string) (Output, error) {
	t.Helper()
	c, err := account.From(ctx)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return ks.Run(t.Context(), conn, k, Command{TeamID: c.TeamID, Address: address, Username: name, Text: command})
}

// TestDebiansOpenSSH: every kind of key signs in at sshd and runs commands; the host's key is pinned, and a host with
// another one is refused.
func TestDebiansOpenSSH(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ks, alice, bob := setUp(t, d)
		me, err := user.Current()
		if err != nil {
			t.Fatal(err)
		}
		var keys []Key
		for _, algorithm := range Algorithms {
			k, err := ks.Create(alice, NewKey{Name: algorithm, Algorithm: algorithm})
			if err != nil || k.Algorithm != algorithm || k.AuthType != "key" || !strings.HasPrefix(k.Fingerprint, "SHA256:") {
				t.Fatalf("%s: %+v, %v", algorithm, k, err)
			}
			keys = append(keys, k)
		}
		imported := filepath.Join(t.TempDir(), "imported")
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "a passphrase", "-f", imported).CombinedOutput(); err != nil {
			t.Skipf("%s: %v", out, err)
		}
		text, err := os.ReadFile(imported)
		if err != nil {
			t.Fatal(err)
		}
		k, err := ks.Create(alice, NewKey{Name: "imported", PrivateKey: string(text), Passphrase: "a passphrase"})
		if err != nil || k.Algorithm != "ed25519" {
			t.Fatal(k, err)
		}
		keys = append(keys, k)
		s := startSSHD(t, "", keys...)
		for i, k := range keys {
			out, err := run(t, ks, alice, k, s.address, me.Username, "echo $((40+2)); exit 3")
			if err != nil || out.Text != "42\n" || out.ExitCode != 3 || out.First != (i == 0) {
				t.Errorf("%s: %+v, %v", k.Name, out, err)
			}
		}
		out, err := run(t, ks, alice, keys[0], s.address, me.Username, "head -c 200000 /dev/zero | tr '\\0' x")
		if err != nil || len(out.Text) != maxOutput || !out.Cut {
			t.Errorf("%d bytes, %v, %v", len(out.Text), out.Cut, err)
		}
		other, err := ks.Create(alice, NewKey{Name: "other", Algorithm: "ed25519"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(t, ks, alice, other, s.address, me.Username, "true"); !errs.Is(err, errs.FailedDependency) {
			t.Errorf("a key that sshd does not know: %v", err)
		}
		s.stop()
		_, port, _ := net.SplitHostPort(s.address)
		startSSHD(t, port, keys...)
		if _, err := run(t, ks, bob, keys[0], s.address, me.Username, "true"); errs.From(err).Code != "ssh_host_key_changed" {
			t.Errorf("a host with another key: %v", err)
		}
		hosts, err := ks.Hosts(bob)
		if err != nil || len(hosts) != 1 || hosts[0].Address != s.address || hosts[0].Fingerprint != out.Fingerprint {
			t.Fatalf("%+v, %v", hosts, err)
		}
		if err := ks.Forget(alice, hosts[0].ID); err != nil {
			t.Fatal(err)
		}
		if out, err := run(t, ks, alice, keys[0], s.address, me.Username, "true"); err != nil || !out.First {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

// passwordServer takes one password, and answers each command with its text.
func passwordServer(t *testing.T, password string) (address string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{PasswordCallback: func(_ ssh.ConnMetadata, sent []byte) (*ssh.Permissions, error) {
		if string(sent) != password {
			return nil, fmt.Errorf("not %q", sent)
		}
		return &ssh.Permissions{}, nil
	}}
	config.AddHostKey(signer)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serve(conn, config)
		}
	}()
	return l.Addr().String()
}

func serve(conn net.Conn, config *ssh.ServerConfig) {
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for next := range channels {
		channel, calls, err := next.Accept()
		if err != nil {
			return
		}
		for call := range calls {
			_ = call.Reply(true, nil)
			_, _ = channel.Write(call.Payload[4:])
			_, _ = channel.SendRequest("exit-status", false, []byte{0, 0, 0, 0})
			channel.Close()
		}
	}
}

func TestPasswords(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ks, alice, _ := setUp(t, d)
		address := passwordServer(t, "second")
		k, err := ks.Create(alice, NewKey{Name: "root", Password: "first", Username: "root"})
		if err != nil || k.Algorithm != Password || k.PublicKey != "" || k.Port != 22 {
			t.Fatal(k, err)
		}
		if _, err := run(t, ks, alice, k, address, "root", "true"); !errs.Is(err, errs.FailedDependency) {
			t.Errorf("a wrong password: %v", err)
		}
		if k, err = ks.Update(alice, k.ID, Update{Password: new("second")}); err != nil {
			t.Fatal(err)
		}
		if out, err := run(t, ks, alice, k, address, "root", "hello"); err != nil || out.Text != "hello" || out.ExitCode != 0 {
			t.Errorf("%+v, %v", out, err)
		}
		c, err := account.From(alice)
		if err != nil {
			t.Fatal(err)
		}
		keys, passwords, err := ks.ForTask(t.Context(), c.TeamID, c.UserID, "")
		if err != nil || len(keys) != 1 || len(passwords) != 1 || passwords[0] != "second" {
			t.Errorf("%v, %v, %v", keys, passwords, err)
		}
		shown, err := json.Marshal(keys)
		if err != nil || strings.Contains(string(shown), "second") {
			t.Errorf("%s, %v", shown, err)
		}
		sealed, err := db.Value[[]byte](t.Context(), d, `SELECT sealed FROM ssh_key`)
		if err != nil || strings.Contains(string(sealed), "second") {
			t.Errorf("at rest: %q, %v", sealed, err)
		}
	})
}

func TestRefusedKeys(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	ks, alice, bob := setUp(t, d)
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(weak, "")
	if err != nil {
		t.Fatal(err)
	}
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(weak, "", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		n     NewKey
		param string
	}{
		"nothing":            {NewKey{}, "algorithm"},
		"two ways":           {NewKey{Algorithm: "ed25519", Password: "x"}, "algorithm"},
		"an unknown kind":    {NewKey{Algorithm: "dsa"}, "algorithm"},
		"no key":             {NewKey{PrivateKey: "x"}, "private_key"},
		"a weak key":         {NewKey{PrivateKey: string(pem.EncodeToMemory(block))}, "private_key"},
		"without passphrase": {NewKey{PrivateKey: string(pem.EncodeToMemory(locked))}, "private_key_passphrase"},
		"a wrong passphrase": {NewKey{PrivateKey: string(pem.EncodeToMemory(locked)), Passphrase: "y"}, "private_key_passphrase"},
		"a bad name":         {NewKey{Name: "a b", Algorithm: "ed25519"}, "name"},
		"a bad host":         {NewKey{Algorithm: "ed25519", Host: "a b"}, "default_host"},
		"a bad user":         {NewKey{Algorithm: "ed25519", Username: "a b"}, "default_username"},
		"a bad port":         {NewKey{Algorithm: "ed25519", Port: 70000}, "default_port"},
		"nobody's project":   {NewKey{Algorithm: "ed25519", ProjectID: "x"}, "project_id"},
	} {
		if c.n.Name == "" {
			c.n.Name = "k"
		}
		if _, err := ks.Create(alice, c.n); errs.From(err) == nil || errs.From(err).Param != c.param {
			t.Errorf("%s: %v", name, err)
		}
	}
	k, err := ks.Create(alice, NewKey{Name: "k", Algorithm: "ed25519"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ks.Create(alice, NewKey{Name: "k", Algorithm: "ed25519"}); !errs.Is(err, errs.Conflict) {
		t.Error(err)
	}
	if _, err := ks.Update(alice, k.ID, Update{Password: new("x")}); errs.From(err).Param != "password" {
		t.Error(err)
	}
	if _, err := ks.Find(bob, k.ID); !errs.Is(err, errs.NotFound) {
		t.Errorf("another member finds it: %v", err)
	}
	if err := ks.Delete(bob, k.ID); !errs.Is(err, errs.NotFound) {
		t.Error(err)
	}
}
