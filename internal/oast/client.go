package oast

import (
	"bytes"
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

// maxAnswer is how long an answer of a server may be, in bytes.
const maxAnswer = 16 << 20

// memoryFactor is how often an answer is in memory: as it is read, as sealed interactions, and unsealed ones.
const memoryFactor = 4

// ErrSession is the answer to a poll of a session that the server no longer has.
var ErrSession = errors.New("the server does not know this session any more: it was not polled for too long, or it was restarted")

// Client is one session with a server, ours or interactsh's.
type Client struct {
	http                       *http.Client
	server                     *url.URL
	token, correlation, secret string
	key                        *rsa.PrivateKey
}

// NewClient registers with the server at an address such as https://oast.example, or an interactsh server's. Without
// https:// or http:// it is https. The http client decides what may be dialled and which certificates are trusted.
func NewClient(ctx context.Context, with *http.Client, server, token string) (*Client, error) {
	at, err := parseServer(server)
	if err != nil {
		return nil, err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	c := &Client{
		http: with, server: at, token: token, key: key, secret: rand.Text(), correlation: random(CorrelationLength),
	}
	return c, c.Register(ctx)
}

// Register tells the server of the session; again, when Poll says that the server does not know it any more.
func (c *Client) Register(ctx context.Context) error {
	public, err := x509.MarshalPKIXPublicKey(c.key.Public())
	if err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: public})
	return c.post(ctx, "/register", registration{
		PublicKey: base64.StdEncoding.EncodeToString(block), Secret: c.secret, Correlation: c.correlation,
	})
}

// State is a session as it can be stored, and is secret.
type State struct {
	Correlation, Secret string
	Key                 []byte // PKCS #1
}

// State is what Resume takes.
func (c *Client) State() State {
	return State{c.correlation, c.secret, x509.MarshalPKCS1PrivateKey(c.key)}
}

// Resume continues a session with the same server. It asks nothing: Poll tells whether the server still knows it.
func Resume(with *http.Client, server, token string, s State) (*Client, error) {
	at, err := parseServer(server)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS1PrivateKey(s.Key)
	if err != nil {
		return nil, err
	}
	return &Client{http: with, server: at, token: token, key: key, secret: s.Secret, correlation: s.Correlation}, nil
}

// parseServer reads the address of a server.
func parseServer(server string) (*url.URL, error) {
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	at, err := url.Parse(server)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, fmt.Errorf("%q is no address of an out-of-band server", server)
	}
	return &url.URL{Scheme: at.Scheme, Host: at.Host}, nil
}

// random is n letters and digits, the first a letter: a label of a name.
func random(n int) string {
	return ("v" + strings.ToLower(rand.Text()+rand.Text()))[:n]
}

// URL makes an identifier that was not used before and returns it with the address to give to a target: ID.DOMAIN, or,
// for a server that is known by its address alone, ADDRESS:PORT/ID.
func (c *Client) URL() (id, address string) { return c.Names().URL() }

// Names makes names of a session. It is no secret but to targets, and can be handed on.
type Names struct{ Correlation, Host string }

// Names are those of the session.
func (c *Client) Names() Names { return Names{c.correlation, c.server.Host} }

// URL is Client.URL.
func (n Names) URL() (id, address string) {
	id = n.Correlation + random(NonceLength)
	if _, err := netip.ParseAddr((&url.URL{Host: n.Host}).Hostname()); err == nil {
		return id, n.Host + "/" + id
	}
	return id, id + "." + n.Host
}

// Poll returns what came in for this session since the last poll, or the first part of it, when it is much. ErrSession
// says that the session is over. Of an answer with interactions that cannot be read it returns the others, with an
// error.
func (c *Client) Poll(ctx context.Context) ([]Interaction, error) {
	all, _, err := c.poll(ctx)
	return all, err
}

// maxDrain is how often Drain polls at most, so that a flood does not hold it for ever.
const maxDrain = 64

// Drain polls until the server has nothing more, and gives take what came in, part by part. The error is that of Poll.
func (c *Client) Drain(ctx context.Context, take func([]Interaction)) error {
	for range maxDrain {
		all, size, err := c.poll(ctx)
		take(all)
		if err != nil || size < pollBytes/2 {
			return err
		}
	}
	return nil
}

// poll is Poll, with the number of bytes of the interactions.
func (c *Client) poll(ctx context.Context) (all []Interaction, size int, err error) {
	query := url.Values{"id": {c.correlation}, "secret": {c.secret}}
	var in polled
	if err := c.do(ctx, http.MethodGet, "/poll?"+query.Encode(), nil, &in); err != nil {
		return nil, 0, err
	}
	if len(in.Data) == 0 {
		return nil, 0, nil
	}
	key, err := base64.StdEncoding.DecodeString(in.Key)
	if err != nil {
		return nil, 0, fmt.Errorf("aes_key: %w", err)
	}
	key, err = rsa.DecryptOAEP(sha256.New(), nil, c.key, key, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("aes_key: %w", err)
	}
	var broken error
	all = make([]Interaction, 0, len(in.Data))
	for _, sealed := range in.Data {
		size += base64.StdEncoding.DecodedLen(len(sealed))
		one, err := unseal(key, sealed)
		if err != nil {
			broken = cmp.Or(broken, err)
			continue
		}
		if strings.HasPrefix(one.UniqueID, c.correlation) { // what a server mixes up is not this session's
			all = append(all, one)
		}
	}
	return all, size, broken
}

func unseal(key []byte, sealed string) (one Interaction, err error) {
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return one, fmt.Errorf("an interaction: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return one, fmt.Errorf("aes_key: %w", err)
	}
	if len(raw) < aes.BlockSize {
		return one, errors.New("an interaction is too short")
	}
	plain := make([]byte, len(raw)-aes.BlockSize)
	cipher.NewCTR(block, raw[:aes.BlockSize]).XORKeyStream(plain, raw[aes.BlockSize:])
	if err := json.Unmarshal(plain, &one); err != nil {
		return one, fmt.Errorf("an interaction: %w", err)
	}
	return one, nil
}

// Close ends the session on the server.
func (c *Client) Close(ctx context.Context) error {
	return c.post(ctx, "/deregister", registration{Secret: c.secret, Correlation: c.correlation})
}

func (c *Client) post(ctx context.Context, path string, body registration) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodPost, path, raw, nil)
}

func (c *Client) do(ctx context.Context, method, path string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.server.String()+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		req.Header.Set("Authorization", c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // its URL has the secret of the session
		}
		return fmt.Errorf("%s: %w", c.server, err)
	}
	defer resp.Body.Close()
	share := membudget.Process().Share()
	defer share.Release()
	raw, err := share.ReadAll(ctx, share.Reader(ctx, resp.Body, memoryFactor*maxAnswer), maxAnswer+1)
	if err != nil {
		return fmt.Errorf("%s: %w", c.server, err)
	}
	if len(raw) > maxAnswer {
		return fmt.Errorf("%s answers with more than %d bytes", c.server, maxAnswer)
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%s does not accept the token", c.server)
	case strings.Contains(string(raw[:min(len(raw), 1024)]), errUnknown.Error()) && resp.StatusCode != http.StatusOK:
		return ErrSession
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answers %s: %.200q", c.server, resp.Status, raw)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("%s: %w", c.server, err)
	}
	return nil
}
