// Package account identifies callers: users, teams, roles and plans, passwords, bearer tokens and API keys. Every other
// service takes the Caller from the context and works only in the Caller's team.
package account

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/mail"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account/factor"
	"github.com/vedette-sec/vedette/internal/core/account/openid"
	"github.com/vedette-sec/vedette/internal/core/account/throttle"
	"github.com/vedette-sec/vedette/internal/core/account/token"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/notify/mailer"
)

// Role is what a member may do in a team.
type Role string

// The roles: an admin changes the team, a member works, a viewer reads, and a guest reads but does not see the
// members and the audit log.
const (
	Admin  Role = "admin"
	Member Role = "member"
	Viewer Role = "viewer"
	Guest  Role = "guest"
)

// Roles are all roles, from most to least rights.
func Roles() []Role { return []Role{Admin, Member, Viewer, Guest} }

// ReadsOnly reports whether the role can change nothing.
func (r Role) ReadsOnly() bool { return r != Admin && r != Member }

// Plan is the set of features that a team may use.
type Plan string

// The plans. A team gets the plan that the server's configuration names; its operator may change it.
const (
	Free       Plan = "FREE"
	Pro        Plan = "PRO"
	Enterprise Plan = "ENT"
)

// weight is a team's share of busy workers, relative to that of others.
func (p Plan) weight() int {
	switch p {
	case Enterprise:
		return 4
	case Pro:
		return 2
	}
	return 1
}

// Plans are all plans, from the least to the most features.
func Plans() []Plan { return []Plan{Free, Pro, Enterprise} }

// Caller is the user of a request, and the team that they act in.
type Caller struct {
	UserID      string
	Email       string
	TeamID      string
	Role        Role
	Plan        Plan
	SystemAdmin bool   // an operator of the server
	SessionID   string // empty: the caller has no session of ours, but an API key or a token of the OpenID issuer
	KeyID       string // empty: the caller used no API key
	MustEnrol   bool   // the team requires a second factor that they do not have; see CheckFactor
	ReadOnly    bool   // the API key may not be used to change anything
}

type callerKey struct{}

// WithCaller puts the caller into the context.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// From is the caller in the context. Without one it fails with Unauthenticated, so that an API cannot forget
// authentication.
func From(ctx context.Context) (Caller, error) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	if !ok {
		return c, errs.New(errs.Unauthenticated, "unauthenticated", "Authentication is required.")
	}
	return c, nil
}

func fromUnless(ctx context.Context, refused func(Role) bool, code, message string) (Caller, error) {
	c, err := From(ctx)
	if err == nil && refused(c.Role) {
		err = errs.New(errs.Forbidden, code, "%s", message)
	}
	return c, err
}

// ErrReadOnlyKey refuses a change that was asked for with an API key of the scope read.
var ErrReadOnlyKey = errs.New(errs.Forbidden, "read_only_key", "This API key can read and not change.")

// Insider is From for information about the team itself, which guests may not see.
func Insider(ctx context.Context) (Caller, error) {
	return fromUnless(ctx, func(r Role) bool { return r == Guest }, "guest_sees_less",
		"A guest does not see who is in the team, or what they did.")
}

// Writer is From for changes, which viewers and guests may not make, and nobody with a key of the scope read.
func Writer(ctx context.Context) (Caller, error) {
	c, err := fromUnless(ctx, Role.ReadsOnly, "viewer_is_read_only", "A viewer of the team can read and not change.")
	if err == nil && c.ReadOnly {
		err = ErrReadOnlyKey
	}
	return c, err
}

// TeamAdmin is From for actions that only an admin of the team may take.
func TeamAdmin(ctx context.Context) (Caller, error) {
	return fromUnless(ctx, func(r Role) bool { return r != Admin }, "team_admin_required",
		"Only an admin of the team can do this.")
}

// Operator is From for changes to any team, which only operators of the server may make.
func Operator(ctx context.Context) (Caller, error) {
	c, err := From(ctx)
	if err == nil && !c.SystemAdmin {
		err = errs.New(errs.Forbidden, "operator_required", "Only an operator of the server can do this.")
	}
	return c, err
}

// Config is the operator's configuration of accounts.
type Config struct {
	Region         string // of this deployment, such as us
	InternalKey    string // what X-Internal-API-Key must be; empty: no lookup
	RegionServices []RegionService
	RegionTimeout  time.Duration // for answers of other regions; 3 s when 0

	OIDCIssuer       string // an OpenID issuer that people sign in at, or whose tokens are accepted; empty: none
	OIDCAudience     string // of those tokens; empty: they are not accepted
	OIDCClientID     string // of this server at the issuer; empty: nobody signs in there
	OIDCClientSecret string
	OIDCOnly         bool // people sign in at the issuer only: passwords are off

	TurnstileSiteKey   string // with the secret: login and key creation need a challenge token
	TurnstileSecret    string
	TurnstileVerifyURL string // Cloudflare's when empty

	KeysPerUser      int            // API keys that a user may have at once; 1 when 0
	TeamsByOperators bool           // only admins of the server create teams
	Box              *seal.Box      // seals the secrets of second factors; nil at the operator's command line
	Mail             *mailer.Outbox // mails of the server; nil: it sends none
	PublicURL        string         // for links in mails, and the address that security keys are bound to
	VerifyUser       bool           // security keys have to ask for a PIN or a fingerprint

	DefaultPlan Plan // of new teams; Enterprise when empty

	TokenTTL time.Duration // of a bearer token; 12 h when 0
	HTTP     *http.Client  // for the addresses above
	Logger   *slog.Logger
	Now      func() time.Time
}

// Accounts is the service of users, their keys and tokens, teams and members.
type Accounts struct {
	Config
	db     *db.DB
	pepper []byte // keys the hashes of API keys
	tokens token.Signer
	issuer *openid.Issuer

	logins       *throttle.Slots
	newPasswords *throttle.Slots // of their own: a flood of logins does not delay who sets a password
	guesses      *throttle.Guesses

	signIns       *throttle.Guesses // at the OpenID issuer
	factors       *factor.Factors
	resets        chan string // addresses that asked for a new password
	resetRequests *throttle.Guesses
	resetsTo      *throttle.Quota // mails by address
	invitesTo     *throttle.Quota // mails by address: of their own, so that who invites keeps no link back
	invitesOf     *throttle.Quota // mails by the address of who invites

	setUp atomic.Bool // there is a user: setup is closed until the next start
}

// Open loads the server's secrets, and creates them at the first start.
func Open(ctx context.Context, d *db.DB, c Config) (*Accounts, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.HTTP == nil {
		c.HTTP = &http.Client{
			Timeout:       10 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	c.RegionTimeout = cmp.Or(c.RegionTimeout, 3*time.Second)
	c.TokenTTL = cmp.Or(c.TokenTTL, 12*time.Hour)
	c.DefaultPlan = cmp.Or(c.DefaultPlan, Enterprise)
	c.TurnstileVerifyURL = cmp.Or(c.TurnstileVerifyURL, "https://challenges.cloudflare.com/turnstile/v0/siteverify")
	a := &Accounts{
		Config: c, db: d, logins: throttle.NewSlots(loginsAtOnce), newPasswords: throttle.NewSlots(1),
		guesses:       throttle.NewGuesses("too_many_wrong_passwords", "wrong passwords"),
		signIns:       throttle.NewGuesses("too_many_sign_ins", "sign-ins that failed"),
		resets:        make(chan string, maxResets),
		resetRequests: throttle.NewGuesses("too_many_resets", "requests for new passwords"),
		resetsTo:      throttle.NewQuota(mailsPerAddress, time.Hour),
		invitesTo:     throttle.NewQuota(mailsPerAddress, time.Hour),
		invitesOf:     throttle.NewQuota(mailsPerPerson, time.Hour),
	}
	a.tokens = token.Signer{TTL: c.TokenTTL, Now: c.Now}
	if c.OIDCIssuer != "" {
		a.issuer = &openid.Issuer{
			URL: c.OIDCIssuer, Audience: c.OIDCAudience, ClientID: c.OIDCClientID, ClientSecret: c.OIDCClientSecret,
			RedirectURL: strings.TrimRight(c.PublicURL, "/") + CallbackPath, Box: c.Box, Skew: token.Skew, HTTP: c.HTTP, Now: c.Now,
		}
	}
	for name, secret := range map[string]*[]byte{"api_key_pepper": &a.pepper, "jwt_hs256": &a.tokens.Key} {
		var err error
		if *secret, err = serverSecret(ctx, d, name); err != nil {
			return nil, err
		}
	}
	a.factors = factor.New(d, factor.Config{
		Pepper: a.pepper, Box: c.Box, Now: c.Now, PublicURL: c.PublicURL, VerifyUser: c.VerifyUser,
	})
	return a, nil
}

// serverSecret reads a secret that all nodes share, or creates it: of several nodes that start at once, the
// first one's stays.
func serverSecret(ctx context.Context, d *db.DB, name string) (secret []byte, err error) {
	err = d.Tx(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO server_secret (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`,
			name, ids.Secret(32))
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT value FROM server_secret WHERE name = ?`, name).Scan(&secret)
	})
	return secret, err
}

// Peer is the network that a client's address stands for when it is limited; see throttle.Peer.
func Peer(address string) string { return throttle.Peer(address) }

const maxEmail = 254 // bytes (RFC 5321, 4.5.3.1.3)

// ParseEmail checks an address (RFC 5322 addr-spec, no display name) and returns it in lower case.
func ParseEmail(s string) (string, error) {
	addr, err := mail.ParseAddress(s)
	if err != nil || addr.Address != s || len(s) > maxEmail || strings.ContainsAny(s, "\x00\r\n\t \"") {
		return "", errs.New(errs.Invalid, "invalid_email", "email must be an e-mail address.").At("email")
	}
	return strings.ToLower(s), nil
}
