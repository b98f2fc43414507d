// Package billing serves the area Billing of the agent-task API: credits that an operator granted, what used them, and
// statements. Nothing is bought here: what would buy refuses, or names the operator's payment link.
package billing

import (
	"context"
	"encoding/json"
	"io"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/billing"
	"github.com/vedette-sec/vedette/internal/core/billing/paper"
)

// Credits sums up the credits of a team.
type Credits struct {
	Available    float64    `json:"available_credits" doc:"Neither used nor expired, nor reserved for calls under way. A credit is a US dollar."`
	Issued       float64    `json:"issued_credits" doc:"All that was granted, without what was taken back unused."`
	Used         float64    `json:"used_credits"`
	ExpiresAt    *time.Time `json:"expires_at" doc:"When the next part expires; null: nothing does."`
	IsExpired    bool       `json:"is_expired" doc:"Whether there were credits, and what was left of them has expired."`
	IsBounded    bool       `json:"is_bounded" doc:"Whether credits bound what the team spends on the server's models: from its first grant on."`
	HasMethod    bool       `json:"has_payment_method" doc:"Always false: this server keeps none."`
	HasPurchased bool       `json:"has_purchased" doc:"Always false: operators grant credits."`
	LastAt       *time.Time `json:"last_purchase_at" doc:"Always null."`
	LastCredits  *float64   `json:"last_purchase_credits" doc:"Always null."`
	Methods      []string   `json:"payment_methods" doc:"Always empty."`
	ResourceType string     `json:"resource_type" enum:"user,team" doc:"Whose they are: always team."`
}

// Grant is what an operator granted.
type Grant struct {
	ID        string     `json:"id"`
	Credits   float64    `json:"credits"`
	Used      float64    `json:"used_credits"`
	Note      string     `json:"note"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at" doc:"Null: never."`
	RevokedAt *time.Time `json:"revoked_at" doc:"When the operator took back what was unused; null: they did not."`
}

// Grants are the grants of a team.
type Grants struct {
	Grants []Grant `json:"grants" doc:"The newest first; at most 1000."`
	Total  int     `json:"total"`
}

// Part is what one task, member, project or model has used.
type Part struct {
	ID      string  `json:"id" doc:"Of the task, member or project; of a model its name; empty: of no project."`
	Name    string  `json:"name" doc:"The title, address or name; empty: it was deleted."`
	Calls   int     `json:"calls" doc:"Calls of models; of a model its streams."`
	Credits float64 `json:"credits"`
}

// Consumption is what used credits, in parts.
type Consumption struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Parts []Part    `json:"data" doc:"Those that used the most first, at most 1000."`
}

// Statement says what a team was granted and has used.
type Statement struct {
	TeamID    string    `json:"team_id"`
	Team      string    `json:"team_name"`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	WrittenAt time.Time `json:"written_at"`
	Currency  string    `json:"currency"`
	Total     float64   `json:"total_credits"`
	Display   string    `json:"total_display"`
	Grants    []Grant   `json:"grants"`
	Projects  []Part    `json:"by_project"`
	Members   []Part    `json:"by_member"`
	Models    []Part    `json:"by_model"`
	Tasks     []Part    `json:"by_task"`
}

func credits(micros int64) float64 { return float64(micros) / billing.MicrosPerCredit }

func grant(g billing.Grant) Grant {
	return Grant{ID: g.ID, Credits: credits(g.Micros), Used: credits(g.Used), Note: g.Note, CreatedAt: g.CreatedAt,
		ExpiresAt: g.ExpiresAt, RevokedAt: g.RevokedAt}
}

func part(p billing.Part) Part { return Part{p.ID, p.Name, p.Calls, credits(p.Micros)} }

// Area is the area with the service that it calls.
type Area struct {
	*rest.API
	Credits *billing.Credits
	// Link is where people pay the operator; empty: nowhere.
	Link string
}

// Range is a range of time.
type Range struct {
	From time.Time `query:"from" doc:"From then on; absent: the beginning of this month, in UTC."`
	To   time.Time `query:"to" doc:"Before then; absent: until now."`
}

func (r Range) times(now time.Time) (from, to time.Time) {
	from, to = r.From, r.To
	if to.IsZero() {
		to = now.Add(time.Microsecond)
	}
	if from.IsZero() {
		at := to.UTC()
		from = time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	return from, to
}

const (
	path  = "/api/v1/billing"
	tag   = "Billing"
	whose = "In a team of one, the member sees it; in a larger team, its admins do and other members get 403."
)

// Register adds the area's operations.
func (a Area) Register() {
	get := rest.NewOp("get-credits", "GET "+path+"/credits", tag, "Get your team's credits")
	get.Description = whose
	rest.Handle(a.API, get, a.balance)
	list := rest.NewOp("list-credit-grants", "GET "+path+"/grants", tag, "List the credits that an operator granted, newest first")
	list.Description = whose
	rest.Handle(a.API, list, func(ctx context.Context, _ *struct{}) (*Grants, error) {
		found, err := a.Credits.Grants(ctx)
		return &Grants{rest.Each(found, grant), len(found)}, err
	})
	used := rest.NewOp("get-credit-consumption", "GET "+path+"/consumption", tag, "Get what used credits, by task, member, project or model")
	used.Description = "Calls with keys of your own are not in it. " + whose
	rest.Handle(a.API, used, func(ctx context.Context, in *struct {
		Range
		By string `query:"group_by" enum:"task,member,project,model" default:"task" doc:"The parts."`
	}) (*Consumption, error) {
		from, to := in.times(time.Now())
		found, err := a.Credits.Consumption(ctx, billing.By(in.By), from, to)
		return &Consumption{from, to, rest.Each(found, part)}, err
	})
	a.statements()
	a.payments()
	a.operator()
}

func (a Area) balance(ctx context.Context, _ *struct{}) (*Credits, error) {
	b, err := a.Credits.Balance(ctx)
	return &Credits{Available: credits(b.Available), Issued: credits(b.Issued), Used: credits(b.Used),
		ExpiresAt: b.ExpiresAt,
		IsExpired: b.Expired, IsBounded: b.Grants > 0, Methods: []string{}, ResourceType: "team"}, err
}

const (
	typeJSON = "application/json"
	typeCSV  = "text/csv"
	typePDF  = "application/pdf"
)

func (a Area) statements() {
	get := rest.NewOp("get-credit-statement", "GET "+path+"/statement", tag,
		"A statement of a team's credits, as JSON, CSV or PDF")
	get.Description = whose
	get.Responses = map[string]*huma.Response{"200": {Description: "The statement.", Content: map[string]*huma.MediaType{
		typeJSON: {Schema: a.Huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Statement](), true, "CreditStatement")},
		typeCSV:  {Schema: &huma.Schema{Type: huma.TypeString}},
		typePDF:  {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
	}}}
	rest.Register(a.API, get, func(ctx context.Context, in *struct {
		Range
		Format string `query:"format" enum:"json,csv,pdf" default:"json" doc:"The kind of file. pdf has the first 200 rows of each table."`
	}) (*huma.StreamResponse, error) {
		from, to := in.times(time.Now())
		st, err := a.Credits.Statement(ctx, from, to)
		if err != nil {
			return nil, err
		}
		rest.Audit(ctx, "export-credit-statement")
		name := "credits-" + st.From.Format(time.DateOnly) + "." + in.Format
		switch in.Format {
		case "csv":
			return a.File(ctx, typeCSV, name, st.WriteCSV), nil
		case "pdf":
			return a.File(ctx, typePDF, name, func(w io.Writer) error { return paper.Write(ctx, w, st) }), nil
		}
		return a.File(ctx, typeJSON, name, func(w io.Writer) error { return json.NewEncoder(w).Encode(statement(st)) }), nil
	})
}

func statement(st billing.Statement) Statement {
	of := func(by billing.By) []Part { return rest.Each(st.Parts[by], part) }
	return Statement{
		TeamID: st.TeamID, Team: st.Team, From: st.From, To: st.To, WrittenAt: st.WrittenAt, Currency: currency,
		Total: credits(st.Total), Display: billing.Display(st.Total), Grants: rest.Each(st.Grants, grant),
		Projects: of(billing.ByProject), Members: of(billing.ByMember), Models: of(billing.ByModel),
		Tasks: of(billing.ByTask),
	}
}

// GrantRequest grants credits.
type GrantRequest struct {
	Team      string     `json:"team" minLength:"1" maxLength:"128" doc:"The team's id, or its name where no other team has it."`
	Credits   float64    `json:"credits" minimum:"0.01" maximum:"1000000000" doc:"A credit is a US dollar."`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"When what is unused expires; absent: never."`
	Note      string     `json:"note,omitempty" maxLength:"200" doc:"For the team and for you."`
}

// GrantAnswer is a grant.
type GrantAnswer struct {
	Grant OperatorGrant `json:"grant"`
}

// OperatorGrant is a grant as operators see it.
type OperatorGrant struct {
	Grant
	TeamID    string `json:"team_id"`
	GrantedBy string `json:"granted_by" doc:"The operator's address; empty: the command line of the server."`
}

// OperatorGrants are the grants of a team.
type OperatorGrants struct {
	Grants []OperatorGrant `json:"grants" doc:"The newest first; at most 1000."`
	Total  int             `json:"total"`
}

func operatorGrant(g billing.Grant) OperatorGrant {
	return OperatorGrant{grant(g), g.TeamID, g.GrantedBy}
}

func (a Area) operator() {
	const all = "/api/v1/operator/credits"
	give := rest.NewOp("grant-credits", "POST "+all, tag, "Grant credits to any team (operators of the server only)", 404, 409)
	give.Description = "From its first grant on, a team's calls of the server's models are bounded by its credits. Those that expire first are used first."
	rest.Handle(a.API, give, func(ctx context.Context, in *struct{ Body GrantRequest }) (*GrantAnswer, error) {
		c, err := account.Operator(ctx)
		if err != nil {
			return nil, err
		}
		r := in.Body
		g, err := a.Credits.Grant(ctx, billing.NewGrant{Team: r.Team, Micros: billing.Micros(r.Credits), Note: r.Note,
			By:        c.Email,
			ExpiresAt: r.ExpiresAt})
		rest.About(ctx, g.ID)
		return &GrantAnswer{operatorGrant(g)}, err
	})
	rest.Handle(a.API, rest.NewOp("operate-list-credits", "GET "+all, tag, "List the grants of any team (operators of the server only)", 404),
		func(ctx context.Context, in *struct {
			Team string `query:"team" required:"true" maxLength:"128" doc:"The team's id, or its name where no other team has it."`
		}) (*OperatorGrants, error) {
			if _, err := account.Operator(ctx); err != nil {
				return nil, err
			}
			found, err := a.Credits.Of(ctx, in.Team)
			return &OperatorGrants{rest.Each(found, operatorGrant), len(found)}, err
		})
	signin.Act(a.API, rest.NewOp("revoke-credits", "DELETE "+all, tag, "Take back what is unused of a grant (operators of the server only)",
		404), "What was unused is taken back.", func(ctx context.Context, in *struct {
		ID string `query:"grant_id" required:"true" maxLength:"64" doc:"The grant's id."`
	}) error {
		if _, err := account.Operator(ctx); err != nil {
			return err
		}
		rest.About(ctx, in.ID)
		_, err := a.Credits.Revoke(ctx, in.ID)
		return err
	})
}

// Words name and describe the area's types in the contract.
func Words() rest.Vocabulary {
	names := map[reflect.Type]string{}
	for _, one := range []struct {
		of reflect.Type
		as string
	}{
		{reflect.TypeFor[Grant](), "CreditGrant"}, {reflect.TypeFor[Grants](), "CreditGrantList"},
		{reflect.TypeFor[Part](), "CreditPart"}, {reflect.TypeFor[Consumption](), "CreditConsumption"},
		{reflect.TypeFor[Statement](), "CreditStatement"}, {reflect.TypeFor[GrantRequest](), "CreditGrantRequest"},
		{reflect.TypeFor[GrantAnswer](), "CreditGrantAnswer"}, {reflect.TypeFor[OperatorGrant](), "OperatorCreditGrant"},
		{reflect.TypeFor[OperatorGrants](), "OperatorCreditGrantList"}, {reflect.TypeFor[Purchase](), "PurchaseRequest"},
		{reflect.TypeFor[Redirect](), "PaymentRedirect"}, {reflect.TypeFor[Invoices](), "InvoiceList"},
	} {
		names[one.of] = one.as
	}
	return rest.Vocabulary{Names: names, Words: rest.ParseWords(words)}
}

const words = `Checkout.action, Topup.action: estimate: what it would cost. Otherwise: where to pay.
Checkout.credits_per_user, Preview.credits_per_user: Credits for each seat and interval.
Checkout.interval, Preview.interval: How often it would be paid.
Checkout.seats, Preview.seats: Number of members.
Preview.demote_member_emails: Who would lose their seat.
Topup.credits, PurchaseRequest.credits, PaymentRedirect.credits: Credits; one is a US dollar.
CreditConsumption.from, CreditStatement.from: From then on.
CreditConsumption.to, CreditStatement.to: Before then.
CreditGrant.credits, OperatorCreditGrant.credits: What was granted.
CreditGrant.note, OperatorCreditGrant.note: What the operator wrote about it.
CreditGrant.used_credits, OperatorCreditGrant.used_credits: What was used of it.
Credits.used_credits: What was used of all grants.
CreditGrantAnswer.grant: The new grant.
OperatorCreditGrant.team_id, CreditStatement.team_id: The team's id.
CreditPart.credits: What it has used.
CreditStatement.team_name: The team's name.
CreditStatement.by_project: What used them, by project.
CreditStatement.by_member: What used them, by member.
CreditStatement.by_model: What used them, by model.
CreditStatement.by_task: What used them, by task.
CreditStatement.grants: What was granted in this time.
CreditStatement.written_at: When it was written.
CreditStatement.total_credits: What was used in this time.
CreditStatement.total_display: The same, as a text.
CreditStatement.currency, InvoiceList.currency, PaymentRedirect.currency: The currency: usd.
InvoiceList.total_amount_cents: Always 0.
InvoiceList.total_amount_display: The same, as a text.
InvoiceList.total_purchases: Always 0.
PaymentRedirect.amount_cents: The amount, in US cents.
PaymentRedirect.amount_display: The same, as a text.`
