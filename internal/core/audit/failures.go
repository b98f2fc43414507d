package audit

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/account/throttle"
)

const (
	maxFailures     = 256 // sign-ins that wait to be written down; more are dropped, and logged
	failuresPerUser = 20  // an hour: strangers must not fill a team's log
)

// Failures writes sign-ins with a wrong password into the log of the account's team. It does so later and apart from
// the answer, whose time would tell otherwise whether an address has an account. Each process counts for itself.
type Failures struct {
	log      *Log
	accounts *account.Accounts
	quota    *throttle.Quota
	waiting  chan failure
}

type failure struct {
	email string
	entry Entry
}

// NewFailures makes the service; Run does its work.
func NewFailures(log *Log, accounts *account.Accounts) *Failures {
	return &Failures{
		log: log, accounts: accounts, quota: throttle.NewQuota(failuresPerUser, time.Hour),
		waiting: make(chan failure, maxFailures),
	}
}

// Add has an entry written for the user of an address, if there is one and they are in a team. It never waits. Of many
// for the same user in an hour only the first ones are kept.
func (f *Failures) Add(email string, e Entry) {
	select {
	case f.waiting <- failure{email, e}:
	default:
		f.log.logger.Warn("too many sign-ins failed to write each into the audit log: one is dropped")
	}
}

// Run writes entries until ctx ends.
func (f *Failures) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case one := <-f.waiting:
			if err := f.write(ctx, one); err != nil {
				f.log.logger.ErrorContext(ctx, "writing a failed sign-in into the audit log", "error", err)
			}
		}
	}
}

func (f *Failures) write(ctx context.Context, one failure) error {
	c, err := f.accounts.Whose(ctx, one.email)
	if err != nil || c.TeamID == "" || !f.quota.Take(c.UserID, f.log.now()) {
		return err
	}
	one.entry.TeamID, one.entry.UserID, one.entry.Email = c.TeamID, c.UserID, c.Email
	return f.log.Add(ctx, one.entry)
}
