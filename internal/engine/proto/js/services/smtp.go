package services

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// SMTP is the module nuclei/smtp.
func SMTP(h *host.Host) *goja.Object {
	client := h.Class(func(a *host.Args) (*goja.Object, error) {
		if _, err := a.Address(0); err != nil {
			return nil, err
		}
		server := a // the host and the port, for all methods
		return h.Object("smtp.Client", nil, host.Methods{
			"IsSMTP": h.Waits(func(*host.Args) (any, error) {
				return h.Ask(server, 0, func(conn net.Conn) (any, error) {
					banner, err := smtpGreeting(h, conn)
					return host.Fields{{Name: "IsSMTP", Value: banner != ""}, {Name: "Banner", Value: banner}}, err
				})
			}),
			"IsOpenRelay": h.Waits(func(a *host.Args) (any, error) {
				m, ok := a.State(0).(*mail)
				if !ok {
					return nil, errNoMail
				}
				if len(m.to) != 1 {
					return nil, fmt.Errorf("invalid number of recipients: required 1, got %d", len(m.to))
				}
				return h.Ask(server, 0, func(conn net.Conn) (any, error) { return m.relay(conn, server.Text(0)) })
			}),
			"SendMail": h.Waits(func(a *host.Args) (any, error) {
				m, ok := a.State(0).(*mail)
				if !ok {
					return nil, errNoMail
				}
				return h.Ask(server, 0, func(conn net.Conn) (any, error) { return m.send(conn, server.Text(0)) })
			}),
		}), nil
	})
	return h.Module(map[string]goja.Value{
		"Client": client, "NewSMTPClient": client, "SMTPMessage": h.Class(func(*host.Args) (*goja.Object, error) {
			return newMail(h), nil
		}),
	})
}

var errNoMail = errors.New("the message is no SMTPMessage")

// smtpGreeting is the first line of a server that also answers a greeting as SMTP does; "" for another.
func smtpGreeting(h *host.Host, conn net.Conn) (string, error) {
	banner, err := h.Exchange(conn, nil)
	if err != nil || !smtpCode(banner, "220", "421", "500", "501", "554") {
		return "", err
	}
	answer, err := h.Exchange(conn, []byte("EHLO example.com\r\n"))
	if err != nil || !smtpCode(answer, "250", "421", "500", "501", "502", "504", "550") {
		return "", err
	}
	return strings.TrimSpace(string(banner)), nil
}

func smtpCode(answer []byte, codes ...string) bool {
	return len(answer) >= 3 && slices.Contains(codes, string(answer[:3]))
}

const maxRecipients = 100

// mail is a message.
type mail struct {
	from, subject, user, password string
	to                            []string
	body                          []byte
}

func newMail(h *host.Host) *goja.Object {
	m := &mail{}
	var o *goja.Object
	set := func(f func(a *host.Args)) host.Method {
		return func(a *host.Args) (any, error) {
			f(a)
			return o, nil
		}
	}
	o = h.Object("smtp.SMTPMessage", nil, host.Methods{
		"From": set(func(a *host.Args) { m.from = a.Text(0) }),
		"To": func(a *host.Args) (any, error) {
			if len(m.to) >= maxRecipients {
				return nil, errors.New("the message has too many recipients")
			}
			m.to = append(m.to, a.Text(0))
			return o, nil
		},
		"Subject": set(func(a *host.Args) { m.subject = a.Text(0) }),
		"Body":    set(func(a *host.Args) { m.body = a.Bytes(0) }),
		"Auth":    set(func(a *host.Args) { m.user, m.password = a.Text(0), a.Text(1) }),
		"String":  func(*host.Args) (any, error) { return string(m.text()), nil },
	})
	h.SetState(o, m)
	return o
}

func (m *mail) text() []byte {
	text := "To: " + strings.Join(m.to, ",") + "\r\n"
	if m.subject != "" {
		text += "Subject: " + m.subject + "\r\n"
	}
	return append([]byte(text+"\r\n"), append(m.body, "\r\n"...)...)
}

// relay is whether the server takes the message from a stranger.
func (m *mail) relay(conn net.Conn, name string) (bool, error) {
	c, err := smtp.NewClient(conn, name)
	if err != nil {
		return false, err
	}
	return m.deliver(c)
}

// send sends the message as a mail program does: with TLS where it is offered, and logged in if there is a password.
// The server's certificate is not judged: the server is what is tested.
func (m *mail) send(conn net.Conn, name string) (bool, error) {
	c, err := smtp.NewClient(conn, name)
	if err != nil {
		return false, err
	}
	if err := c.Hello("localhost"); err != nil {
		return false, err
	}
	if offered, _ := c.Extension("STARTTLS"); offered {
		if err := c.StartTLS(&tls.Config{ServerName: name, InsecureSkipVerify: true}); err != nil {
			return false, err
		}
	}
	if m.user != "" && m.password != "" {
		if err := c.Auth(smtp.PlainAuth("", m.user, m.password, name)); err != nil {
			return false, err
		}
	}
	return m.deliver(c)
}

func (m *mail) deliver(c *smtp.Client) (bool, error) {
	if err := c.Mail(m.from); err != nil {
		return false, err
	}
	for _, to := range m.to {
		if err := c.Rcpt(to); err != nil {
			return false, err
		}
	}
	w, err := c.Data()
	if err != nil {
		return false, err
	}
	if _, err := w.Write(m.text()); err != nil {
		return false, err
	}
	if err := w.Close(); err != nil {
		return false, err
	}
	return true, c.Quit()
}
