package oast

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"sync"
	"time"
)

// What refuses a client. The text of errUnknown is the one by which interactsh's clients know it.
var (
	errUnknown = errors.New("could not get correlation-id from cache")
	errTaken   = errors.New("correlation-id provided already exists")
	errSecret  = errors.New("invalid secret key passed for user")
	errFull    = errors.New("too many sessions; all were polled within the last ten minutes")
	errKey     = errors.New("public-key is no RSA key of 2048 to 4096 bits, as PEM in base64")
	errID      = errors.New("correlation-id must be 20 lower-case letters and digits")
	errNoKey   = errors.New("secret-key must have 1 to 256 bytes")
)

// busy is how long a session that was polled is safe from being replaced by a new one.
const busy = 10 * time.Minute

// pollBytes is how many bytes of interactions one poll hands out at most; the next poll has the rest.
const pollBytes = 8 << 20

// session is what one client registered, with what came in for it.
type session struct {
	secret, wrapped string
	block           cipher.Block

	// Guarded by store.mu.
	seen time.Time

	mu      sync.Mutex
	waiting [][]byte
	size    int
	gone    bool
}

// store keeps sessions in memory.
type store struct {
	sessionsMax, bytesMax, sessionBytesMax int
	keep                                   time.Duration
	now                                    func() time.Time

	mu       sync.RWMutex
	sessions map[string]*session

	sizeMu  sync.Mutex
	size    int
	dropped int
}

func (s *store) known(correlation string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.sessions[correlation]
	return ok
}

// register opens a session. publicKey is a PEM block in base64, as clients send it.
func (s *store) register(correlation, secret, publicKey string) error {
	if !isCorrelation(correlation) {
		return errID
	}
	if secret == "" || len(secret) > 256 {
		return errNoKey
	}
	if s.known(correlation) {
		return errTaken
	}
	public, err := parseKey(publicKey)
	if err != nil {
		return err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	wrapped, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, public, key, nil)
	if err != nil {
		return errKey
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.sessions[correlation]; ok {
		return errTaken
	}
	if !s.room() {
		return errFull
	}
	s.sessions[correlation] = &session{
		secret: secret, wrapped: base64.StdEncoding.EncodeToString(wrapped), block: block, seen: s.now(),
	}
	return nil
}

// room makes room for one more session, and says whether there is any. The caller holds s.mu.
func (s *store) room() bool {
	if len(s.sessions) < s.sessionsMax {
		return true
	}
	oldest, seen := "", s.now().Add(-busy)
	for id, one := range s.sessions {
		if one.seen.Before(seen) {
			oldest, seen = id, one.seen
		}
	}
	if oldest == "" {
		return false
	}
	s.remove(oldest)
	return true
}

// remove ends a session. The caller holds s.mu.
func (s *store) remove(correlation string) {
	one := s.sessions[correlation]
	delete(s.sessions, correlation)
	one.mu.Lock()
	defer one.mu.Unlock()
	one.gone = true
	s.free(one.size)
	one.waiting, one.size = nil, 0
}

// evict ends the sessions that nobody has polled for longer than they are kept.
func (s *store) evict() {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.now().Add(-s.keep)
	for id, one := range s.sessions {
		if one.seen.Before(before) {
			s.remove(id)
		}
	}
}

func (s *store) deregister(correlation, secret string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.sessions[correlation]
	if !ok {
		return errUnknown
	}
	if !equal(one.secret, secret) {
		return errSecret
	}
	s.remove(correlation)
	return nil
}

// add stores an interaction until its session polls. It is dropped, and counted, where the session or the store is
// full: the first ones are the evidence.
func (s *store) add(one Interaction) {
	if len(one.UniqueID) != idLength {
		return
	}
	s.mu.RLock()
	to, ok := s.sessions[one.UniqueID[:CorrelationLength]]
	s.mu.RUnlock()
	if !ok {
		return
	}
	data, err := json.Marshal(one)
	if err != nil {
		return // a struct of texts and a time has none
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	if to.gone {
		return
	}
	if !s.reserve(to.size, len(data)) {
		return
	}
	to.waiting = append(to.waiting, data)
	to.size += len(data)
}

// reserve accounts for n more bytes of a session that has some, and says whether there is room for them: a session
// may have its part while others wait for room, and half of it all while they do not. What has no room is counted as
// dropped.
func (s *store) reserve(has, n int) bool {
	s.sizeMu.Lock()
	defer s.sizeMu.Unlock()
	if s.size+n > s.bytesMax || has+n > s.sessionBytesMax && s.size+n > s.bytesMax/2 {
		s.dropped++
		return false
	}
	s.size += n
	return true
}

// free accounts for n bytes that have gone.
func (s *store) free(n int) {
	s.sizeMu.Lock()
	defer s.sizeMu.Unlock()
	s.size -= n
}

// poll hands out, encrypted, what came in since the last poll, and the session's key for it.
func (s *store) poll(correlation, secret string) (data []string, key string, err error) {
	s.mu.Lock()
	one, ok := s.sessions[correlation]
	if ok && equal(one.secret, secret) {
		one.seen = s.now()
	}
	s.mu.Unlock()
	if !ok {
		return nil, "", errUnknown
	}
	if !equal(one.secret, secret) {
		return nil, "", errSecret
	}
	for _, plain := range s.handOut(one) {
		data = append(data, seal(one.block, plain))
	}
	return data, one.wrapped, nil
}

func (s *store) handOut(one *session) [][]byte {
	one.mu.Lock()
	defer one.mu.Unlock()
	n, size := 0, 0
	for n < len(one.waiting) && (n == 0 || size+len(one.waiting[n]) <= pollBytes) {
		size += len(one.waiting[n])
		n++
	}
	out := one.waiting[:n:n]
	one.waiting = one.waiting[n:]
	if len(one.waiting) == 0 {
		one.waiting = nil
	}
	one.size -= size
	s.free(size)
	return out
}

// seal encrypts with AES in counter mode; the initial vector stands before the text.
func seal(block cipher.Block, plain []byte) string {
	out := make([]byte, aes.BlockSize+len(plain))
	_, _ = rand.Read(out[:aes.BlockSize]) // never fails
	//nolint:gosec // the vector is random: it was read the line before
	cipher.NewCTR(block, out[:aes.BlockSize]).XORKeyStream(out[aes.BlockSize:], plain)
	return base64.StdEncoding.EncodeToString(out)
}

// parseKey reads the public key of a client.
func parseKey(text string) (*rsa.PublicKey, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errKey
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, errKey
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, errKey
	}
	public, ok := parsed.(*rsa.PublicKey)
	if !ok || public.N.BitLen() < 2048 || public.N.BitLen() > 4096 {
		return nil, errKey
	}
	return public, nil
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
