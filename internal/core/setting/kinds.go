package setting

import (
	"context"

	"github.com/vedette-sec/vedette/internal/discover/cloud"
	"github.com/vedette-sec/vedette/internal/discover/names"
	"github.com/vedette-sec/vedette/internal/engine/options"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/notify/alert"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
)

// kind has the functions of a type of configuration.
type kind struct {
	// check refuses an invalid text, and returns the provider, if there is one, such as github.
	check func(text []byte) (provider string, err error)
	// verify tries the text with calls that change nothing, and describes the result. Nil: nothing to try.
	verify func(ctx context.Context, text []byte) (ok bool, message string)
}

// kindsOf are the kinds of all types. The guard checks every dial of a verification.
func kindsOf(guard *netguard.Guard) map[Type]kind {
	return map[Type]kind{
		Scan: {
			check:  func(text []byte) (string, error) { return "", new(options.Options).Add(text) },
			verify: options.Verify,
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
