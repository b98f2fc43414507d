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

// kind is what a type of configuration means.
type kind struct {
	// check refuses a text that means nothing, and names the provider where there is one, such as github.
	check func(text []byte) (provider string, err error)
	// verify tries the text with calls that change nothing, and says what came of it. Nil: there is nothing to try.
	verify func(ctx context.Context, text []byte) (ok bool, message string)
}

// kindsOf are the kinds of all types. Every dial of a verification goes through the guard.
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
