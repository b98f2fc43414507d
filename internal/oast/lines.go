package oast

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
)

// Limits on one conversation: lines or messages, bytes of a line, bytes of a mail.
const (
	maxTurns = 200
	maxLine  = 2 << 10
	maxMail  = 1 << 20
)

var errLine = errors.New("line too long")

// talk is one conversation in lines, with what was said, up to maxRaw bytes a side.
type talk struct {
	server *Server
	conn   net.Conn
	in     *bufio.Reader
	heard  strings.Builder
	said   strings.Builder
}

func (s *Server) newTalk(c net.Conn) *talk {
	return &talk{server: s, conn: c, in: bufio.NewReaderSize(c, maxLine)}
}

// line reads a line without its end.
func (t *talk) line() (string, error) {
	raw, err := t.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", errLine
	}
	keep(&t.heard, string(raw))
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(raw), "\r\n"), nil
}

func (t *talk) say(text string) error {
	keep(&t.said, text+"\r\n")
	_, err := io.WriteString(t.conn, text+"\r\n")
	return err
}

func keep(b *strings.Builder, text string) {
	b.WriteString(text[:min(len(text), max(0, maxRaw-b.Len()))])
}

// record records the conversation so far under the identifiers in text.
func (t *talk) record(protocol, from, text string) bool {
	ids := find(text, t.server.store.known)
	if len(ids) == 0 {
		return false
	}
	t.server.record(ids, Interaction{
		Protocol: protocol, SMTPFrom: from, RawRequest: t.heard.String(), RawResponse: t.said.String(),
		RemoteAddress: remote(t.conn),
	})
	return true
}

// serveTCP answers nothing and records what comes until the other side ends, is silent, or has sent maxRaw bytes.
func (s *Server) serveTCP(c net.Conn) {
	raw, _ := io.ReadAll(io.LimitReader(c, maxRaw)) // what came before an error is recorded
	s.record(find(string(raw), s.store.known), Interaction{
		Protocol: "tcp", RawRequest: string(raw), RemoteAddress: remote(c),
	})
}

// serveFTP lets everybody in, has no files, and records each command with an identifier.
func (s *Server) serveFTP(c net.Conn) {
	t := s.newTalk(c)
	err := t.say("220 ready")
	for range maxTurns {
		if err != nil {
			return
		}
		var line string
		if line, err = t.line(); err != nil {
			return
		}
		verb, _, _ := strings.Cut(strings.ToUpper(line), " ")
		err = t.say(ftpReply(verb))
		t.record("ftp", "", line)
		if verb == "QUIT" {
			return
		}
	}
}

func ftpReply(verb string) string {
	switch verb {
	case "USER":
		return "331 send any password"
	case "PASS":
		return "230 logged in"
	case "SYST":
		return "215 UNIX Type: L8"
	case "TYPE", "MODE", "STRU", "NOOP", "OPTS":
		return "200 fine"
	case "FEAT":
		return "211 none"
	case "PWD", "XPWD":
		return `257 "/"`
	case "CWD", "CDUP":
		return "250 fine"
	case "PASV", "EPSV", "PORT", "EPRT", "LIST", "NLST", "STOR":
		return "425 no data connection"
	case "RETR", "SIZE", "MDTM", "DELE", "MKD", "RMD":
		return "550 no such file"
	case "QUIT":
		return "221 bye"
	default:
		return "502 not known here"
	}
}

// mail is the state of an SMTP conversation.
type mail struct {
	talk     *talk
	from     string
	to       []string
	envelope strings.Builder // names of the client, sender and recipients: where identifiers are looked for
	secured  bool
}

// serveSMTP takes mail for everybody, keeps its beginning, and delivers none.
func (s *Server) serveSMTP(c net.Conn) {
	m := &mail{talk: s.newTalk(c)}
	if m.talk.say("220 "+s.name()+" ESMTP") != nil {
		return
	}
	recorded := false
	for range maxTurns {
		line, err := m.talk.line()
		if err != nil {
			break
		}
		done, end := m.command(line)
		recorded = recorded || done
		if end {
			break
		}
	}
	if !recorded { // who names a recipient and goes is an interaction, too
		m.talk.record("smtp", m.from, m.envelope.String())
	}
}

// command answers one command. done says that a mail was recorded, end that the conversation is over.
func (m *mail) command(line string) (done, end bool) {
	verb, rest, _ := strings.Cut(line, " ")
	switch strings.ToUpper(verb) {
	case "HELO":
		keep(&m.envelope, rest+"\n")
		return false, m.talk.say("250 "+m.talk.server.name()) != nil
	case "EHLO":
		keep(&m.envelope, rest+"\n")
		return false, m.talk.say(m.greeting()) != nil
	case "STARTTLS":
		return false, m.secure() != nil
	case "MAIL":
		m.from = address(rest)
		keep(&m.envelope, rest+"\n")
		return false, m.talk.say("250 fine") != nil
	case "RCPT":
		if len(m.to) >= 100 {
			return false, m.talk.say("452 too many recipients") != nil
		}
		m.to = append(m.to, address(rest))
		keep(&m.envelope, rest+"\n")
		return false, m.talk.say("250 fine") != nil
	case "DATA":
		if len(m.to) == 0 {
			return false, m.talk.say("503 RCPT first") != nil
		}
		return m.data()
	case "RSET":
		m.from, m.to = "", nil
		return false, m.talk.say("250 fine") != nil
	case "NOOP", "VRFY":
		return false, m.talk.say("252 fine") != nil
	case "QUIT":
		_ = m.talk.say("221 bye") // the conversation is over either way
		return false, true
	default:
		return false, m.talk.say("502 not known here") != nil
	}
}

// greeting offers TLS with the operator's certificate alone: clients that verify the server's own go before they name a
// recipient. Whoever asks for TLS gets it.
func (m *mail) greeting() string {
	text := "250-" + m.talk.server.name() + "\r\n250-8BITMIME\r\n"
	if !m.secured && !m.talk.server.ownCertificate {
		text += "250-STARTTLS\r\n"
	}
	return text + "250 SIZE 1048576"
}

func (m *mail) secure() error {
	if m.secured {
		return m.talk.say("503 TLS is on")
	}
	if err := m.talk.say("220 go on"); err != nil {
		return err
	}
	m.secured, m.from, m.to = true, "", nil
	m.talk.conn = tls.Server(m.talk.conn, m.talk.server.tls)
	m.talk.in = bufio.NewReaderSize(m.talk.conn, maxLine) // what was sent in clear before the handshake is not read
	return nil
}

// data reads a mail up to its lone dot.
func (m *mail) data() (done, end bool) {
	if m.talk.say("354 end with a dot") != nil {
		return false, true
	}
	size, inside := 0, false
	for {
		raw, err := m.talk.in.ReadSlice('\n')
		keep(&m.talk.heard, string(raw))
		if size += len(raw); size > maxMail {
			_ = m.talk.say("552 too long") // the conversation is over either way
			return m.talk.record("smtp", m.from, m.envelope.String()), true
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			inside = true
			continue
		}
		if err != nil {
			return m.talk.record("smtp", m.from, m.envelope.String()), true
		}
		if s := string(raw); !inside && (s == ".\r\n" || s == ".\n") {
			break
		}
		inside = false
	}
	err := m.talk.say("250 taken")
	done = m.talk.record("smtp", m.from, m.envelope.String())
	m.from, m.to = "", nil
	m.envelope.Reset()
	return done, err != nil
}

// address is what stands in angle brackets, or else what follows the colon.
func address(text string) string {
	_, text, _ = strings.Cut(text, ":")
	if _, inner, ok := strings.Cut(text, "<"); ok {
		text, _, _ = strings.Cut(inner, ">")
	}
	return strings.TrimSpace(text)
}
