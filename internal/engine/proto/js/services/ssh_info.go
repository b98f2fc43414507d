package services

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/md5" //nolint:gosec // a fingerprint that others use too
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/dop251/goja"
	"golang.org/x/crypto/ssh"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// What a server says before anybody logs in: its identification and its algorithms, which are sent in the clear, are
// read from the bytes of a handshake; its key, what was agreed and the ways to log in are the library's.

// info is ConnectSSHInfoMode(host, port).
func info(h *host.Host, a *host.Args) (any, error) {
	return h.Ask(a, 0, func(conn net.Conn) (any, error) {
		seen := &recorder{Conn: conn}
		var key ssh.PublicKey
		var agreed *ssh.NegotiatedAlgorithms
		var methods []string
		var banner string
		good, weak := ssh.SupportedAlgorithms(), ssh.InsecureAlgorithms()
		_, _, _, err := ssh.NewClientConn(seen, a.Text(0), &ssh.ClientConfig{
			Config: ssh.Config{
				KeyExchanges: slices.Concat(good.KeyExchanges, weak.KeyExchanges),
				Ciphers:      slices.Concat(good.Ciphers, weak.Ciphers),
				MACs:         slices.Concat(good.MACs, weak.MACs),
			},
			HostKeyAlgorithms: keyOrder(slices.Concat(good.HostKeys, weak.HostKeys)),
			HostKeyCallback:   func(_ string, _ net.Addr, k ssh.PublicKey) error { key = k; return nil },
			BannerCallback:    func(text string) error { banner = strings.TrimSpace(text); return nil },
			AuthCallback: func(at *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
				agreed, methods = &at.Algorithms, at.AllowedMethods
				return nil, errEnough // nobody logs in
			},
		})
		id, offer := parseHello(seen.hello())
		if offer == nil {
			if err == nil {
				err = errors.New("the server did not say its algorithms")
			}
			return nil, err
		}
		return host.Fields{
			{Name: "Banner", Value: banner}, {Name: "ServerID", Value: identity(id)}, {Name: "ClientID", Value: goja.Null()},
			{Name: "ServerKex", Value: offer.shown()}, {Name: "ClientKex", Value: goja.Null()},
			{Name: "AlgorithmSelection", Value: selection(agreed)}, {Name: "DHKeyExchange", Value: exchange(key)},
			{Name: "UserAuth", Value: methods}, {Name: "Crypto", Value: goja.Null()},
		}, nil
	})
}

var errEnough = errors.New("that is all")

// keyOrder puts the kinds of keys in nuclei's order, so that the same key of a server with several is judged.
func keyOrder(all []string) []string {
	rank := func(name string) int {
		for i, kind := range []string{"cert", "ecdsa", "rsa", "dss"} {
			if strings.Contains(name, kind) {
				return i
			}
		}
		return 9
	}
	slices.SortStableFunc(all, func(a, b string) int { return rank(a) - rank(b) })
	return all
}

// recorder keeps the first bytes that are read. The library may still read when it has returned.
type recorder struct {
	net.Conn

	mu    sync.Mutex
	first []byte
}

const maxHello = 64 << 10

// Read implements net.Conn.
func (r *recorder) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first = append(r.first, b[:min(n, maxHello-len(r.first))]...)
	return n, err
}

// hello is what was read until now.
func (r *recorder) hello() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.first)
}

func base64Text(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// offer is the message in which a server names its algorithms.
type offer struct {
	cookie   []byte
	lists    [10][]string
	follows  bool
	reserved uint32
}

// listNames are those of the lists, in a script and in JSON.
var listNames = [10][2]string{
	{"KexAlgos", "kex_algorithms"}, {"ServerHostKeyAlgos", "host_key_algorithms"},
	{"CiphersClientServer", "client_to_server_ciphers"}, {"CiphersServerClient", "server_to_client_ciphers"},
	{"MACsClientServer", "client_to_server_macs"}, {"MACsServerClient", "server_to_client_macs"},
	{"CompressionClientServer", "client_to_server_compression"},
	{"CompressionServerClient", "server_to_client_compression"},
	{"LanguagesClientServer", "client_to_server_languages"}, {"LanguagesServerClient", "server_to_client_languages"},
}

// parseHello finds the identification of a server, and its offer; nil for none.
func parseHello(b []byte) (id string, found *offer) {
	for !strings.HasPrefix(id, "SSH-") {
		line, rest, complete := bytes.Cut(b, []byte("\n"))
		if !complete {
			return "", nil
		}
		id, b = strings.TrimRight(string(line), "\r"), rest
	}
	if len(b) < 6 {
		return id, nil
	}
	size, padding := int64(binary.BigEndian.Uint32(b)), int64(b[4])
	if size < padding+2 || size > int64(len(b)-4) || b[5] != 20 {
		return id, nil
	}
	b = b[6 : 4+size-padding]
	if len(b) < 16 {
		return id, nil
	}
	o := &offer{cookie: b[:16]}
	b = b[16:]
	for i := range o.lists {
		if len(b) < 4 || int64(binary.BigEndian.Uint32(b)) > int64(len(b)-4) {
			return id, nil
		}
		end := 4 + binary.BigEndian.Uint32(b)
		o.lists[i] = []string{}
		if end > 4 {
			o.lists[i] = strings.Split(string(b[4:end]), ",")
		}
		b = b[end:]
	}
	if len(b) < 5 {
		return id, nil
	}
	o.follows, o.reserved = b[0] != 0, binary.BigEndian.Uint32(b[1:])
	return id, o
}

func (o *offer) shown() host.Shown {
	fields := host.Fields{{Name: "Cookie", Value: o.cookie}}
	inJSON := host.Fields{{Name: "cookie", Value: base64Text(o.cookie)}}
	for i, list := range o.lists {
		fields = append(fields, host.Field{Name: listNames[i][0], Value: list})
		if len(list) > 0 {
			inJSON = append(inJSON, host.Field{Name: listNames[i][1], Value: list})
		}
	}
	joined := func(i int) string { return strings.Join(o.lists[i], ",") }
	all := strings.Join([]string{joined(0), joined(3), joined(5), joined(7)}, ";")
	sum := md5.Sum([]byte(all)) //nolint:gosec // see above
	return host.Shown{
		Fields: append(fields, host.Field{Name: "FirstKexFollows", Value: o.follows},
			host.Field{Name: "Reserved", Value: o.reserved}),
		JSON: append(inJSON, host.Field{Name: "first_kex_follows", Value: o.follows},
			host.Field{Name: "reserved", Value: o.reserved}, host.Field{Name: "serverHaSSH", Value: hex.EncodeToString(sum[:])}),
	}
}

// identity are the parts of an identification: SSH-VERSION-SOFTWARE COMMENT.
func identity(id string) host.Fields {
	words, comment, _ := strings.Cut(id, " ")
	parts := append(strings.SplitN(words, "-", 3), "", "")
	return host.Fields{
		{Name: "Raw", Value: id}, {Name: "ProtoVersion", Value: parts[1]}, {Name: "SoftwareVersion", Value: parts[2]},
		{Name: "Comment", Value: comment},
	}
}

// selection is what client and server agreed on.
func selection(agreed *ssh.NegotiatedAlgorithms) any {
	if agreed == nil {
		return goja.Null()
	}
	way := func(d ssh.DirectionAlgorithms) (fields, inJSON host.Fields) {
		fields = host.Fields{{Name: "Cipher", Value: d.Cipher}, {Name: "MAC", Value: d.MAC}}
		inJSON = host.Fields{{Name: "cipher", Value: d.Cipher}, {Name: "mac", Value: d.MAC}}
		return append(fields, host.Field{Name: "Compression", Value: "none"}),
			append(inJSON, host.Field{Name: "compression", Value: "none"})
	}
	w, wJSON := way(agreed.Write)
	r, rJSON := way(agreed.Read)
	return host.Shown{
		Fields: host.Fields{
			{Name: "Kex", Value: agreed.KeyExchange}, {Name: "HostKey", Value: agreed.HostKey}, {Name: "W", Value: w},
			{Name: "R", Value: r},
		},
		JSON: host.Fields{
			{Name: "dh_kex_algorithm", Value: agreed.KeyExchange}, {Name: "host_key_algorithm", Value: agreed.HostKey},
			{Name: "client_to_server_alg_group", Value: wJSON}, {Name: "server_to_client_alg_group", Value: rJSON},
		},
	}
}

// exchange is what is known of the exchange of keys: the server's own.
func exchange(key ssh.PublicKey) any {
	if key == nil {
		return goja.Null()
	}
	raw := key.Marshal()
	sum := sha256.Sum256(raw)
	shown := host.Fields{}
	if crypto, ok := key.(ssh.CryptoPublicKey); ok {
		switch k := crypto.CryptoPublicKey().(type) {
		case *rsa.PublicKey:
			n := k.N.Bytes()
			shown = append(shown, host.Field{Name: "rsa_public_key", Value: host.Fields{
				{Name: "exponent", Value: k.E}, {Name: "modulus", Value: base64Text(n)}, {Name: "length", Value: len(n) * 8},
			}})
		case *ecdsa.PublicKey:
			shown = append(shown, host.Field{Name: "ecdsa_public_key", Value: host.Fields{
				{Name: "curve", Value: k.Curve.Params().Name}, {Name: "length", Value: k.Curve.Params().BitSize},
			}})
		case ed25519.PublicKey:
			shown = append(shown, host.Field{Name: "ed25519_public_key", Value: host.Fields{
				{Name: "public_bytes", Value: base64Text(k)},
			}})
		default:
			kind := host.Fields{{Name: "type", Value: fmt.Sprintf("%T", k)}}
			shown = append(shown, host.Field{Name: "dsa_public_key", Value: kind})
		}
	}
	return host.Fields{{Name: "server_host_key", Value: append(shown,
		host.Field{Name: "raw", Value: base64Text(raw)}, host.Field{Name: "algorithm", Value: key.Type()},
		host.Field{Name: "fingerprint_sha256", Value: hex.EncodeToString(sum[:])},
	)}}
}
