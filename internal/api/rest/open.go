package rest

import (
	"context"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// allowedEvery is how often it is asked whether the reader of an open stream may still read it. With the time that the
// question takes, a stream ends within a second.
const allowedEvery = 400 * time.Millisecond

// OpenStream counts an answer that stays open, until end is called, and refuses it with RateLimited when the caller or
// their team has too many on this node. The returned context ends when the caller may no longer read: their session or
// key has ended, they have left the team, or were disabled, on whichever node that was done.
func (a *API) OpenStream(ctx context.Context) (open context.Context, end func(), err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := a.streams.add(c); err != nil {
		return nil, nil, err
	}
	open, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		tick := time.NewTicker(allowedEvery)
		defer tick.Stop()
		for {
			select {
			case <-open.Done():
				return
			case <-tick.C:
			}
			if err := a.Accounts.CheckPresent(open, c); err != nil {
				if open.Err() == nil {
					a.Logger.InfoContext(open, "a stream was cut", "user_id", c.UserID, "team_id", c.TeamID, "error", err)
				}
				return
			}
		}
	}()
	end = sync.OnceFunc(func() { cancel(); a.streams.remove(c) })
	context.AfterFunc(ctx, end) // the request has ended, even by a panic
	return open, end, nil
}

// streams counts open streams.
type streams struct {
	perUser, perTeam int // 0: no limit
	mu               sync.Mutex
	users, teams     map[string]int // by id; without those that have none
}

func (s *streams) add(c account.Caller) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.perUser > 0 && s.users[c.UserID] >= s.perUser:
		return tooMany("You have", s.perUser)
	case s.perTeam > 0 && s.teams[c.TeamID] >= s.perTeam:
		return tooMany("Your team has", s.perTeam)
	}
	if s.users == nil {
		s.users, s.teams = map[string]int{}, map[string]int{}
	}
	s.users[c.UserID]++
	s.teams[c.TeamID]++
	return nil
}

func tooMany(who string, most int) error {
	return errs.New(errs.RateLimited, "too_many_streams",
		"%s %d streams open, the most that may be: close one, or read the task by its id.", who, most).With(retryAfter, "5")
}

func (s *streams) remove(c account.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lower(s.users, c.UserID)
	lower(s.teams, c.TeamID)
}

func lower(counts map[string]int, id string) {
	if counts[id]--; counts[id] == 0 {
		delete(counts, id)
	}
}
