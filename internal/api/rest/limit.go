package rest

import (
	"math"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/outage"
)

const retryAfter = outage.RetryAfter

// limit applies the rate limit of the caller, or of an anonymous caller's network.
func (a *API) limit(ctx huma.Context, next func(huma.Context)) {
	key := recordOf(ctx.Context()).caller.UserID
	if key == "" {
		key = account.Peer(ClientIP(ctx))
	}
	if err := a.spend(key); err != nil {
		a.refuse(ctx, err)
		return
	}
	next(ctx)
}

// spend uses one call of the key's rate, or returns RateLimited.
func (a *API) spend(key string) error {
	wait := a.limiter.Take(key, time.Now())
	if wait == 0 {
		return nil
	}
	seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
	return errs.New(errs.RateLimited, "rate_limited", "Too many requests; try again in %s s.", seconds).With(retryAfter,
		seconds)
}
