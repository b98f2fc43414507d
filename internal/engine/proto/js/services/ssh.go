package services

import (
	"bytes"
	"errors"
	"regexp"
	"time"

	"github.com/dop251/goja"
	"golang.org/x/crypto/ssh"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// SSH is the module nuclei/ssh. The keys of servers are not judged: the target is what is tested.
func SSH(h *host.Host) *goja.Object {
	return h.Module(map[string]goja.Value{"SSHClient": h.Class(func(*host.Args) (*goja.Object, error) {
		c := &shell{host: h, timeout: h.Timeout}
		return h.Object("ssh.SSHClient", nil, host.Methods{
			"ConnectSSHInfoMode": h.Waits(func(a *host.Args) (any, error) { return info(h, a) }),
			"SetTimeout": func(a *host.Args) (any, error) {
				if n := a.Int(0); n > 0 {
					c.timeout = min(h.Timeout, time.Duration(min(n, 600))*time.Second)
				}
				return goja.Undefined(), nil
			},
			"Connect": h.Waits(func(a *host.Args) (any, error) {
				return c.connect(a, ssh.Password(a.Text(3)), ssh.KeyboardInteractive(answers(a.Text(2), a.Text(3))))
			}),
			"ConnectWithKey": h.Waits(func(a *host.Args) (any, error) {
				key, err := ssh.ParsePrivateKey([]byte(a.Text(3)))
				if err != nil {
					return nil, err
				}
				return c.connect(a, ssh.PublicKeys(key))
			}),
			"Run": h.Waits(c.run),
			"Close": func(*host.Args) (any, error) {
				if c.client == nil {
					return false, errNoShell
				}
				return true, c.client.Close()
			},
		}), nil
	})})
}

var errNoShell = errors.New("not connected")

type shell struct {
	host    *host.Host
	timeout time.Duration
	client  *ssh.Client
}

// connect connects to (host, port, user, …).
func (c *shell) connect(a *host.Args, methods ...ssh.AuthMethod) (any, error) {
	address, err := a.Address(0)
	if err != nil {
		return nil, err
	}
	conn, err := c.host.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return nil, err
	}
	secure, channels, requests, err := ssh.NewClientConn(conn, address, &ssh.ClientConfig{
		User: a.Text(2), Auth: methods,
		HostKeyCallback: ssh.InsecureIgnoreHostKey(), //nolint:gosec // the server is what is tested
	})
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	c.client = ssh.NewClient(secure, channels, requests)
	return true, conn.SetDeadline(time.Time{})
}

const maxOutput = 4 << 20 // bytes of a command's output

// run is Run(command); the connection ends with the script at the latest.
func (c *shell) run(a *host.Args) (any, error) {
	if c.client == nil {
		return nil, errNoShell
	}
	session, err := c.client.NewSession()
	if err != nil {
		return nil, err
	}
	defer session.Close()
	out := &output{}
	session.Stdout = out
	if err := session.Run(a.Text(0)); err != nil {
		return nil, err
	}
	return out.String(), nil
}

type output struct{ bytes.Buffer }

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	if o.Len()+len(b) > maxOutput {
		return 0, errors.New("the command writes too much")
	}
	return o.Buffer.Write(b)
}

var (
	passwordQuestion = regexp.MustCompile(`(?i)pass(word|phrase|code)?|pin`)
	userQuestion     = regexp.MustCompile(`(?i)user(name)?|login`)
)

// answers answers the questions of a server for a name and a password.
func answers(user, password string) ssh.KeyboardInteractiveChallenge {
	return func(_, _ string, questions []string, shown []bool) ([]string, error) {
		all := make([]string, len(questions))
		for i, q := range questions {
			switch {
			case !shown[i] && passwordQuestion.MatchString(q):
				all[i] = password
			case shown[i] && userQuestion.MatchString(q):
				all[i] = user
			}
		}
		return all, nil
	}
}
