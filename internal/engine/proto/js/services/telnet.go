package services

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/ntlm"
)

// Commands and options of telnet (RFC 854).
const (
	telnetIAC, telnetDont, telnetDo, telnetWont, telnetWill = 255, 254, 253, 252, 251
	telnetSB, telnetSE, telnetEncrypt                       = 250, 240, 38
)

// Telnet is the module nuclei/telnet.
func Telnet(h *host.Host) *goja.Object {
	client := h.Class(func(*host.Args) (*goja.Object, error) {
		return h.Object("telnet.TelnetClient", nil, host.Methods{
			"Connect": h.Waits(func(a *host.Args) (any, error) {
				return h.Ask(a, 0, func(conn net.Conn) (any, error) {
					if a.Text(2) == "" || a.Text(3) == "" {
						return true, nil
					}
					t := &telnet{conn: conn, in: bufio.NewReader(conn)}
					err := t.login(a.Text(2), a.Text(3))
					return err == nil, err
				})
			}),
			"Info": h.Waits(func(a *host.Args) (any, error) {
				return h.Ask(a, 0, telnetInfo)
			}),
			"GetTelnetNTLMInfo": h.Waits(func(a *host.Args) (any, error) {
				return h.Ask(a, 0, func(conn net.Conn) (any, error) { return telnetNTLM(h, conn) })
			}),
		}), nil
	})
	values := map[string]goja.Value{
		"TelnetClient": client,
		"IsTelnet": h.Func(h.Waits(func(a *host.Args) (any, error) {
			return h.Ask(a, 0, func(conn net.Conn) (any, error) {
				got, err := h.Exchange(conn, nil)
				if err != nil {
					return nil, err
				}
				is := len(got) >= 2 && got[0] == telnetIAC && got[1] >= telnetSE &&
					(len(got) == 2 || got[2] <= 49 || got[2] >= 138 && got[2] <= 140)
				if !is {
					got = nil
				}
				return host.Fields{{Name: "IsTelnet", Value: is}, {Name: "Banner", Value: hex.EncodeToString(got)}}, nil
			})
		})),
	}
	for name, n := range map[string]int{
		"IAC": telnetIAC, "DONT": telnetDont, "DO": telnetDo, "WONT": telnetWont, "WILL": telnetWill, "SB": telnetSB,
		"SE": telnetSE, "ENCRYPT": telnetEncrypt, "ECHO": 1, "SUPPRESS_GO_AHEAD": 3, "TERMINAL_TYPE": 24, "NAWS": 31,
	} {
		values[name] = h.VM.ToValue(n)
	}
	return h.Module(values)
}

// telnet is a connection whose options are all refused, so that text remains.
type telnet struct {
	conn net.Conn
	in   *bufio.Reader
}

const maxTelnet = 64 << 10 // bytes before a prompt

func (t *telnet) login(user, password string) error {
	if _, err := t.until("login:", "username:"); err != nil {
		return fmt.Errorf("waiting for the question for a name: %w", err)
	}
	if _, err := t.conn.Write([]byte(user + "\r\n")); err != nil {
		return err
	}
	if _, err := t.until("password:"); err != nil {
		return fmt.Errorf("waiting for the question for a password: %w", err)
	}
	if _, err := t.conn.Write([]byte(password + "\r\n")); err != nil {
		return err
	}
	refusals := []string{"login incorrect", "authentication failed", "login failed"}
	found, err := t.until(append(refusals, "$ ", "# ", "> ")...)
	if err != nil {
		return fmt.Errorf("waiting for a prompt: %w", err)
	}
	if slices.Contains(refusals, found) {
		return errors.New("authentication failed")
	}
	return nil
}

// until reads until one of the texts, in any case, has come.
func (t *telnet) until(texts ...string) (string, error) {
	var seen strings.Builder
	for range maxTelnet {
		b, err := t.in.ReadByte()
		if err != nil {
			return "", err
		}
		if b == telnetIAC {
			if err := t.command(); err != nil {
				return "", err
			}
			continue
		}
		seen.WriteString(strings.ToLower(string(rune(b))))
		for _, text := range texts {
			if strings.HasSuffix(seen.String(), text) {
				return text, nil
			}
		}
	}
	return "", errors.New("the server says too much")
}

// command answers a command: nothing is agreed to.
func (t *telnet) command() error {
	kind, err := t.in.ReadByte()
	if err != nil {
		return err
	}
	switch kind {
	case telnetWill, telnetWont, telnetDo, telnetDont:
		option, err := t.in.ReadByte()
		if err != nil {
			return err
		}
		switch kind {
		case telnetWill:
			_, err = t.conn.Write([]byte{telnetIAC, telnetDont, option})
		case telnetDo:
			_, err = t.conn.Write([]byte{telnetIAC, telnetWont, option})
		}
		return err
	case telnetSB:
		for last := byte(0); ; {
			b, err := t.in.ReadByte()
			if err != nil {
				return err
			}
			if last == telnetIAC && b == telnetSE {
				return nil
			}
			last = b
		}
	}
	return nil
}

// telnetInfo asks for encryption, and gives all that the server says until it falls silent.
func telnetInfo(conn net.Conn) (any, error) {
	if _, err := conn.Write([]byte{telnetIAC, telnetDo, telnetEncrypt, telnetIAC, telnetWill, telnetEncrypt}); err != nil {
		return nil, err
	}
	var banner []byte
	options, encrypts := map[string]any{}, false
	b := make([]byte, 1024)
	for len(banner) < maxTelnet {
		if err := conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			return nil, err
		}
		n, err := conn.Read(b)
		if err != nil {
			break // what it has said is the answer
		}
		for _, c := range b[:n] {
			if c != telnetIAC {
				banner = append(banner, string(rune(c))...)
			}
		}
		encrypts = telnetOptions(b[:n], options) || encrypts
	}
	return host.Fields{ //nolint:nilerr // the silence ends it
		{Name: "SupportsEncryption", Value: encrypts}, {Name: "Banner", Value: string(banner)},
		{Name: "Options", Value: options},
	}, nil
}

// telnetOptions adds the commands for each option, and is whether encryption is one of them.
func telnetOptions(b []byte, options map[string]any) (encrypts bool) {
	for i := 0; i+2 < len(b); i++ {
		if b[i] != telnetIAC {
			continue
		}
		name := strconv.Itoa(int(b[i+2]))
		commands, _ := options[name].([]any)
		options[name] = append(commands, int64(b[i+1]))
		encrypts = encrypts || b[i+2] == telnetEncrypt && (b[i+1] == telnetWill || b[i+1] == telnetDo)
		if end := bytes.Index(b[i:], []byte{telnetIAC, telnetSE}); b[i+1] == telnetSB && end > 0 {
			i += end - 1
		}
		i += 2
	}
	return encrypts
}

// telnetNTLM asks a Windows server for a challenge, in which its names are.
func telnetNTLM(h *host.Host, conn net.Conn) (any, error) {
	hello := ntlm.Negotiate()
	// IAC SB AUTHENTICATION IS NTLM, with the message in the form of Microsoft's servers.
	ask := append([]byte{telnetIAC, telnetSB, 0x25, 0, 0x0f, 0, 0, byte(len(hello)), 0, 0, 0, 2, 0, 0, 0}, hello...)
	got, err := h.Exchange(conn, append([]byte{telnetIAC, telnetWill, 0x25}, append(ask, telnetIAC, telnetSE)...))
	if err != nil {
		return nil, err
	}
	for range 4 { // the options that it wants come first
		if c := ntlm.Parse(got); c != nil {
			return host.Fields{
				{Name: "TargetName", Value: c.Target}, {Name: "NetBIOSDomainName", Value: c.Domain},
				{Name: "NetBIOSComputerName", Value: c.Computer}, {Name: "DNSDomainName", Value: c.DNSDomain},
				{Name: "DNSComputerName", Value: c.DNSComputer}, {Name: "DNSTreeName", Value: c.Forest},
				{Name: "ProductVersion", Value: c.Version}, {Name: "Timestamp", Value: c.Time},
			}, nil
		}
		more, err := h.Exchange(conn, nil)
		if err != nil || len(more) == 0 {
			break
		}
		got = append(got, more...)
	}
	return nil, errors.New("the server sends no NTLM challenge")
}
