package factor

import (
	"context"
	"encoding/json"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// challengeTTL is how long an answer may take: as long as the ticket of a sign-in is valid.
const challengeTTL = 5 * time.Minute

// party is this server as security keys know it: the relying party of WebAuthn. It is nil where there cannot be one.
type party struct{ *webauthn.WebAuthn }

// newParty makes the relying party of a public address. Browsers offer security keys only to pages with a host name
// that came over TLS, or from localhost: for other addresses there is none.
func newParty(publicURL string, verifyUser bool) party {
	u, err := url.Parse(publicURL)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Hostname() != "localhost" {
		return party{}
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return party{}
	}
	host := strings.ToLower(u.Hostname())
	origin := u.Scheme + "://" + host
	if port := u.Port(); port != "" && (u.Scheme != "https" || port != "443") && (u.Scheme != "http" || port != "80") {
		origin += ":" + port
	}
	verification := protocol.VerificationPreferred
	if verifyUser {
		verification = protocol.VerificationRequired
	}
	timeout := webauthn.TimeoutConfig{Timeout: challengeTTL, TimeoutUVD: challengeTTL}
	w, err := webauthn.New(&webauthn.Config{
		RPID: host, RPDisplayName: issuerName, RPOrigins: []string{origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			UserVerification: verification, ResidentKey: protocol.ResidentKeyRequirementDiscouraged,
			RequireResidentKey: protocol.ResidentKeyNotRequired(),
		},
		Timeouts: webauthn.TimeoutsConfig{Login: timeout, Registration: timeout},
	})
	if err != nil { // the host is no domain
		return party{}
	}
	return party{w}
}

// check fails with NotFound when this server cannot have security keys.
func (p party) check() error {
	if p.WebAuthn == nil {
		return errs.New(errs.NotFound, "security_keys_not_configured", "This server takes no security keys: its option "+
			"public_url must be the address that browsers use, https:// with a host name and no IP address.")
	}
	return nil
}

// Use is what a proof is for. Its fields are made by the server: an answer to the challenge of one use is worth nothing
// for another.
type Use struct {
	purpose string
	bound   string
}

// SignIn is the use of finishing the sign-in of a ticket, given as its hash.
func SignIn(ticketHash string) Use { return Use{"sign-in", ticketHash} }

// Change is the use of changing one's own factors in this session.
func Change(sessionID string) Use { return Use{"change", sessionID} }

// register is the use of adding a key in this session.
func register(sessionID string) Use { return Use{"register", sessionID} }

// KeyOptions are what a page asks a security key with.
type KeyOptions struct {
	PublicKey json.RawMessage `json:"publicKey" doc:"For PublicKeyCredential.parseCreationOptionsFromJSON or parseRequestOptionsFromJSON of browsers; valid for five minutes, and for one answer."`
}

// keepChallenge stores what the answer for a use is compared with, and returns the options that ask for it. It replaces
// an earlier challenge of that use.
func (f *Factors) keepChallenge(
	ctx context.Context, userID string, use Use, s *webauthn.SessionData, options any,
) (o KeyOptions, err error) {
	data, err := json.Marshal(s)
	if err != nil {
		return o, err
	}
	if o.PublicKey, err = json.Marshal(options); err != nil {
		return o, err
	}
	_, err = f.db.Exec(ctx, `INSERT INTO security_key_challenge (purpose, bound, user_id, data, expires_at)
		VALUES (?, ?, ?, ?, ?) ON CONFLICT (purpose, bound) DO UPDATE
		SET user_id = excluded.user_id, data = excluded.data, expires_at = excluded.expires_at`,
		use.purpose, use.bound, userID, data, db.At(f.Now().Add(challengeTTL)))
	return o, err
}

// takeChallenge uses the challenge of a use up, at once and for all nodes. It fails with Forbidden when there is none,
// or it has expired.
func (f *Factors) takeChallenge(ctx context.Context, userID string, use Use) (s webauthn.SessionData, err error) {
	var data []byte
	err = f.db.Tx(ctx, func(tx *db.Tx) error { // of its own: the challenge is used up whatever comes of the answer
		data, err = db.Value[[]byte](ctx, tx, `DELETE FROM security_key_challenge
			WHERE purpose = ? AND bound = ? AND user_id = ? AND expires_at > ? RETURNING data`,
			use.purpose, use.bound, userID, db.At(f.Now()))
		return err
	})
	if db.IsNoRows(err) {
		return s, errWrongKey
	}
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}
