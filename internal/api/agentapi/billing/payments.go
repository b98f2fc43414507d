package billing

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strconv"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const currency = "usd"

// errNotConfigured refuses what would buy something where the operator has named no payment link.
var errNotConfigured = errs.New(errs.Conflict, "billing_not_configured",
	"Nothing is sold on this server: ask its operator for credits. (An operator can set billing_link.)")

// errNoSubscription refuses what would change a subscription: there is none.
var errNoSubscription = errs.New(errs.Conflict, "billing_not_configured", "This server has no subscriptions.")

// Purchase asks for credits.
type Purchase struct {
	Action  string  `json:"action" enum:"estimate,purchase" doc:"estimate: what it would cost. purchase: where to pay."`
	Credits float64 `json:"credits" minimum:"100" maximum:"3000"`
	Method  string  `json:"payment_method_id,omitempty" maxLength:"200" doc:"This server keeps no payment methods: it is refused."`
}

// Checkout asks for a subscription.
type Checkout struct {
	Action         string  `json:"action" enum:"estimate,checkout"`
	CreditsPerUser float64 `json:"credits_per_user" minimum:"1" maximum:"100000"`
	Seats          int     `json:"seats" minimum:"1" maximum:"100000"`
	Interval       string  `json:"interval" enum:"month,year"`
	Mode           string  `json:"ui_mode,omitempty" enum:"hosted,embedded,elements" doc:"Where the form would be."`
}

// Preview asks what a change of a subscription would do.
type Preview struct {
	CreditsPerUser float64  `json:"credits_per_user,omitempty" minimum:"1" maximum:"100000"`
	Seats          int      `json:"seats,omitempty" minimum:"1" maximum:"100000"`
	Interval       string   `json:"interval,omitempty" enum:"month,year"`
	Demote         []string `json:"demote_member_emails,omitempty" maxItems:"1000"`
}

// Topup asks for credits beyond a subscription.
type Topup struct {
	Action  string  `json:"action" enum:"estimate,purchase,charge,checkout"`
	Credits float64 `json:"credits" minimum:"1" maximum:"100000"`
}

// Redirect is what something costs, and where to pay.
type Redirect struct {
	Action      string  `json:"action" enum:"estimate,redirect" doc:"redirect: open redirect_url in a browser. An operator grants the credits when they are paid."`
	AmountCents int64   `json:"amount_cents"`
	Display     string  `json:"amount_display"`
	Credits     float64 `json:"credits"`
	Currency    string  `json:"currency"`
	URL         *string `json:"redirect_url" doc:"The operator's payment link with credits and team as parameters; null in an estimate."`
}

// Invoice is a purchase. There are none: nothing is bought here.
type Invoice struct {
	ID string `json:"id"`
}

// Invoices are purchases.
type Invoices struct {
	History []Invoice `json:"invoice_history" doc:"Always empty: operators grant credits (GET /api/v1/billing/grants)."`
	HasMore bool      `json:"has_more"`
	Cur     string    `json:"currency"`
	Cents   int64     `json:"total_amount_cents"`
	Display string    `json:"total_amount_display"`
	Total   int       `json:"total_purchases"`
}

// Subscription is the subscription of a team: none.
type Subscription struct {
	Has     bool    `json:"has_subscription" doc:"Always false."`
	Status  string  `json:"status" enum:"none"`
	Plan    *string `json:"plan" doc:"Always null. The plan of the team is in GET /api/v1/teams."`
	Pending *string `json:"pending_change" doc:"Always null."`
	Topup   float64 `json:"topup_available_credits" doc:"Credits of grants that can be used now."`
	Link    *string `json:"payment_link" doc:"Where people pay the operator; null: nowhere."`
}

// payments are the operations that would move money.
func (a Area) payments() {
	rest.Handle(a.API, rest.NewOp("list-invoices", "GET "+path+"/invoices", tag,
		"List purchases: there are none on this server"),
		func(ctx context.Context, _ *struct {
			Limit int    `query:"limit" minimum:"1" maximum:"100" default:"25" doc:"How many to return."`
			After string `query:"starting_after" maxLength:"64" doc:"The id of the last purchase of the page before."`
		}) (*Invoices, error) {
			_, err := a.Credits.Balance(ctx)
			return &Invoices{History: []Invoice{}, Cur: currency, Display: display(0)}, err
		})
	rest.Handle(a.API, rest.NewOp("get-subscription", "GET "+path+"/subscription", tag, "Get the subscription: there is none on this server"),
		func(ctx context.Context, _ *struct{}) (*Subscription, error) {
			b, err := a.Credits.Balance(ctx)
			s := &Subscription{Status: "none", Topup: credits(b.Available)}
			if a.Link != "" {
				s.Link = &a.Link
			}
			return s, err
		})
	buy := rest.NewOp("purchase-credits", "POST "+path+"/purchase", tag, "Where to pay for credits (team admins only)",
		409)
	buy.Description = "409, billing_not_configured, unless the operator has set billing_link. No money is moved here, and no card is known: an " +
		"operator grants credits that were paid."
	rest.Handle(a.API, buy, func(ctx context.Context, in *struct{ Body Purchase }) (*Redirect, error) {
		if in.Body.Method != "" {
			return nil, errs.Field("payment_method_id", "payment_method_id: this server keeps no payment methods.")
		}
		return a.pay(ctx, in.Body.Action == "estimate", in.Body.Credits)
	})
	checkout := rest.NewOp("checkout-subscription", "POST "+path+"/subscription/checkout", tag,
		"Subscriptions are not sold on this server (team admins only)", 409)
	refuse[Checkout](a, checkout)
	refuse[Preview](a, rest.NewOp("preview-subscription", "POST "+path+"/subscription/preview", tag,
		"Subscriptions are not sold on this server (team admins only)", 409))
	rest.Handle(a.API, rest.NewOp("topup-subscription", "POST "+path+"/subscription/topup", tag,
		"Where to pay for credits (team admins only)", 409),
		func(ctx context.Context, in *struct{ Body Topup }) (*Redirect, error) {
			return a.pay(ctx, in.Body.Action == "estimate", in.Body.Credits)
		})
	for id, what := range map[string]string{"clear-pending-subscription": "clear-pending",
		"cancel-subscription": "cancel"} {
		rest.Handle(a.API, rest.NewOp(id, "POST "+path+"/subscription/"+what, tag, "There is no subscription on this server (team admins only)", 409),
			func(ctx context.Context, _ *struct{}) (*Redirect, error) { return nil, noSubscription(ctx) })
	}
}

func refuse[B any](a Area, op rest.Op) {
	rest.Handle(a.API, op, func(ctx context.Context, _ *struct{ Body B }) (*Redirect, error) {
		return nil,
			noSubscription(ctx)
	})
}

func noSubscription(ctx context.Context) error {
	if _, err := account.TeamAdmin(ctx); err != nil {
		return err
	}
	return errNoSubscription
}

func display(cents int64) string { return fmt.Sprintf("$%d.%02d", cents/100, cents%100) }

// pay says what credits cost, and where to pay for them.
func (a Area) pay(ctx context.Context, estimate bool, n float64) (*Redirect, error) {
	c, err := account.TeamAdmin(ctx)
	if err != nil {
		return nil, err
	}
	if a.Link == "" {
		return nil, errNotConfigured
	}
	cents := int64(math.Round(n * 100))
	r := &Redirect{Action: "estimate", AmountCents: cents, Display: display(cents), Credits: n, Currency: currency}
	if estimate {
		return r, nil
	}
	link, err := url.Parse(a.Link)
	if err != nil {
		return nil, err
	}
	query := link.Query()
	query.Set("credits", strconv.FormatFloat(n, 'f', -1, 64))
	query.Set("team", c.TeamID)
	link.RawQuery = query.Encode()
	r.Action, r.URL = "redirect", new(link.String())
	return r, nil
}
