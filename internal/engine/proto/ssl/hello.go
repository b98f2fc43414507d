package ssl

import (
	"context"
	"crypto/ecdh"
	"crypto/md5" //nolint:gosec // JA3S is defined with it
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/cryptobyte"
)

// A handshake by hand, up to the server's certificate: it offers versions and suites that crypto/tls does not speak,
// down to SSL 3.0 (RFC 6101) and the suites without encryption, and so finds out what a server would accept.

// The versions on the wire.
const (
	versionSSL30 = 0x0300
	versionTLS10 = 0x0301
	versionTLS12 = 0x0303
	versionTLS13 = 0x0304
)

// The limits of what is read of an answer.
const (
	maxRecord    = 16<<10 + 2048
	maxHandshake = 256 << 10
)

// answer is what a server shows before anything is encrypted.
type answer struct {
	version      uint16
	suite        uint16
	extensions   []uint16
	certificates [][]byte // DER; none in TLS 1.3, where they are encrypted
	wantsCert    bool     // it asks for the client's certificate
}

// ja3s is the JA3S fingerprint of the answer.
func (a *answer) ja3s() string {
	legacy := min(a.version, versionTLS12)
	list := make([]string, len(a.extensions))
	for i, id := range a.extensions {
		list[i] = strconv.Itoa(int(id))
	}
	sum := md5.Sum(fmt.Appendf(nil, "%d,%d,%s", legacy, a.suite, strings.Join(list, "-"))) //nolint:gosec // see above
	return hex.EncodeToString(sum[:])
}

// greet offers one version with some suites on a connection and reads the answer.
func greet(
	ctx context.Context, conn net.Conn, name string, version uint16, ids []uint16, timeout time.Duration,
) (*answer, error) {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	hello, err := clientHello(name, version, ids)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(hello); err != nil {
		return nil, err
	}
	r := recordReader{conn: conn}
	a := &answer{}
	for {
		kind, body, err := r.message()
		if err != nil {
			return nil, err
		}
		switch kind {
		case 2: // ServerHello
			if err := a.readHello(body); err != nil {
				return nil, err
			}
			if a.version != version {
				return nil, fmt.Errorf("%w: it answered with another version (%#x)", errRefused, a.version)
			}
			if version == versionTLS13 {
				return a, nil
			}
		case 11: // Certificate
			if err := a.readCertificates(body); err != nil {
				return nil, err
			}
		case 13: // CertificateRequest
			a.wantsCert = true
		case 14: // ServerHelloDone
			if a.version == 0 {
				return nil, errNoHello
			}
			return a, nil
		}
	}
}

var (
	errNoHello = errors.New("the server sent no hello")
	errNoTLS   = errors.New("the server does not speak TLS")
	errRefused = errors.New("the server refused the handshake")
)

// clientHello is a ClientHello in one record (RFC 5246, 7.4.1.2; RFC 8446, 4.1.2).
func clientHello(name string, version uint16, ids []uint16) ([]byte, error) {
	random := make([]byte, 32)
	_, _ = rand.Read(random)
	share, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	var b cryptobyte.Builder
	b.AddUint8(22) // handshake
	b.AddUint16(min(version, versionTLS10))
	b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
		b.AddUint8(1) // ClientHello
		b.AddUint24LengthPrefixed(func(b *cryptobyte.Builder) {
			b.AddUint16(min(version, versionTLS12))
			b.AddBytes(random)
			b.AddUint8(0) // no session
			b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
				for _, id := range ids {
					b.AddUint16(id)
				}
			})
			b.AddBytes([]byte{1, 0}) // no compression
			if version > versionSSL30 {
				b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
					extensions(b, name, version, share.PublicKey().Bytes())
				})
			}
		})
	})
	return b.Bytes()
}

// extensions are those that a server may need to choose.
func extensions(b *cryptobyte.Builder, name string, version uint16, share []byte) {
	add := func(id uint16, body func(b *cryptobyte.Builder)) {
		b.AddUint16(id)
		b.AddUint16LengthPrefixed(body)
	}
	list := func(values ...uint16) func(b *cryptobyte.Builder) {
		return func(b *cryptobyte.Builder) {
			b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
				for _, v := range values {
					b.AddUint16(v)
				}
			})
		}
	}
	if name != "" && net.ParseIP(name) == nil {
		add(0, func(b *cryptobyte.Builder) { // server_name
			b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
				b.AddUint8(0)
				b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes([]byte(name)) })
			})
		})
	}
	const x25519, p256, p384, p521 = 29, 23, 24, 25
	add(10, list(x25519, p256, p384, p521))                           // supported_groups
	add(11, func(b *cryptobyte.Builder) { b.AddBytes([]byte{1, 0}) }) // ec_point_formats
	if version >= versionTLS12 {
		add(13, list(0x0403, 0x0503, 0x0603, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601, 0x0203, 0x0201, 0x0402, 0x0202))
	}
	if version >= versionTLS13 {
		add(43, func(b *cryptobyte.Builder) { b.AddBytes([]byte{2, 3, 4}) }) // supported_versions
		add(51, func(b *cryptobyte.Builder) {                                // key_share
			b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
				b.AddUint16(x25519)
				b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(share) })
			})
		})
	}
}

// recordReader reads handshake messages from records.
type recordReader struct {
	conn net.Conn
	data []byte // of messages that are not read yet
	read int
}

func (r *recordReader) message() (kind byte, body []byte, err error) {
	for {
		if len(r.data) >= 4 {
			size := int(r.data[1])<<16 | int(r.data[2])<<8 | int(r.data[3])
			if size > maxHandshake {
				return 0, nil, errors.New("the server's handshake message is too long")
			}
			if len(r.data) >= 4+size {
				kind, body = r.data[0], r.data[4:4+size]
				r.data = r.data[4+size:]
				return kind, body, nil
			}
		}
		if err := r.record(); err != nil {
			return 0, nil, err
		}
	}
}

func (r *recordReader) record() error {
	var head [5]byte
	if _, err := io.ReadFull(r.conn, head[:]); err != nil {
		return err
	}
	size := int(binary.BigEndian.Uint16(head[3:]))
	if head[1] != 3 || size == 0 || size > maxRecord {
		return errNoTLS
	}
	if r.read += size; r.read > maxHandshake {
		return errors.New("the server's handshake is too long")
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r.conn, body); err != nil {
		return err
	}
	switch head[0] {
	case 22:
		r.data = append(r.data, body...)
		return nil
	case 21:
		return fmt.Errorf("%w (alert %d)", errRefused, body[len(body)-1])
	}
	return fmt.Errorf("the server sent a record of type %d in its handshake", head[0])
}

func (a *answer) readHello(body []byte) error {
	s := cryptobyte.String(body)
	var session cryptobyte.String
	var list cryptobyte.String
	if !s.ReadUint16(&a.version) || !s.Skip(32) || !s.ReadUint8LengthPrefixed(&session) || !s.ReadUint16(&a.suite) ||
		!s.Skip(1) {
		return errNoHello
	}
	if s.Empty() || !s.ReadUint16LengthPrefixed(&list) {
		return nil
	}
	for !list.Empty() {
		var id uint16
		var value cryptobyte.String
		if !list.ReadUint16(&id) || !list.ReadUint16LengthPrefixed(&value) {
			return errNoHello
		}
		a.extensions = append(a.extensions, id)
		if id == 43 && !value.ReadUint16(&a.version) { // supported_versions
			return errNoHello
		}
	}
	return nil
}

func (a *answer) readCertificates(body []byte) error {
	s := cryptobyte.String(body)
	var list cryptobyte.String
	if !s.ReadUint24LengthPrefixed(&list) {
		return errors.New("the server's certificates cannot be read")
	}
	for !list.Empty() {
		var one cryptobyte.String
		if !list.ReadUint24LengthPrefixed(&one) {
			return errors.New("the server's certificates cannot be read")
		}
		a.certificates = append(a.certificates, one)
	}
	return nil
}
