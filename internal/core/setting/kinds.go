package setting

import (
	"context"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/discover/cloud"
	"github.com/vedette-sec/vedette/internal/discover/names"
	"github.com/vedette-sec/vedette/internal/engine/options"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/notify/alert"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
)

type kind struct {
	// check refuses an invalid text, and returns the provider, if there is one, such as github.
	check func(text []byte) (provider string, err error)
	// verify tries the text with calls that change nothing, and describes the result. It is false when something does
	// not work, has no effect, or cannot be tried (docs/adr/0022). Nil: there is nothing to try.
	verify func(ctx context.Context, text []byte) (ok bool, message string)
}

// kindsOf are the kinds of all types. The guard checks every dial of a verification.
func kindsOf(guard *netguard.Guard) map[Type]kind {
	return map[Type]kind{
		Scan: {
			check:  func(text []byte) (string, error) { return "", new(options.Options).Add(text) },
			verify: options.Verifier(guard),
		},
		Template: {check: func(text []byte) (string, error) { return "", new(options.Options).AddSet(text) }},
		Reporting: {
			check: func(text []byte) (string, error) {
				c, err := tracker.Parse(text)
				return c.Provider(), err
			},
			verify: tracker.New(guard).Verify,
		},
		Alerting: {
			check: func(text []byte) (string, error) {
				c, err := alert.Parse(text)
				return c.Provider(), err
			},
			verify: alert.NewSender(guard).Verify,
		},
		Subfinder: {
			check: func(text []byte) (string, error) {
				_, err := names.ParseKeys(text)
				return "", err
			},
			verify: names.VerifyKeys,
		},
		Cloudlist: {
			check: func(text []byte) (string, error) {
				accounts, err := cloud.Parse(text)
				return cloud.Providers(accounts), err
			},
			verify: cloud.New(guard).Verify,
		},
	}
}

// verifyTimeout is how long a verification may take, however many accounts or channels a text has.
const verifyTimeout = time.Minute

// Verify tries a text of a type, and describes the result; an empty type means the one that the text fits. A text that
// is invalid or does not work is no error: ok is false, and the message says why. An error is a text that is missing or
// too long, or an unknown type.
func (s *Settings) Verify(ctx context.Context, t Type, text string) (ok bool, message string, err error) {
	if _, err := account.Writer(ctx); err != nil {
		return false, "", err
	}
	if t != "" {
		if err := checkType(t); err != nil {
			return false, "", err
		}
	}
	if err := checkSize(text); err != nil {
		return false, "", err
	}
	doc, err := readUnmasked(text)
	if err != nil {
		return false, errs.From(err).Message, nil
	}
	if t == "" {
		t = s.guess(doc)
	}
	if _, err := s.check(t, doc); err != nil {
		return false, errs.From(err).Message, nil
	}
	verify := s.kinds[t].verify
	if verify == nil {
		return true, "The configuration is well formed; it has no credentials to try.", nil
	}
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	ok, message = verify(ctx, doc.text)
	return ok, strings.ToValidUTF8(message, "\uFFFD"), nil
}

// guess is the type that a text fits, for a request without one. A scan's configuration is asked last: it takes any
// mapping and leaves out what it does not know.
func (s *Settings) guess(doc document) Type {
	for _, t := range []Type{Reporting, Alerting, Cloudlist} {
		if _, err := s.kinds[t].check(doc.text); err == nil {
			return t
		}
	}
	if names.HasSource(doc.text) {
		return Subfinder
	}
	return Scan
}
