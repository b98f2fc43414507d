package team

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// AuditEntry is one changing request.
type AuditEntry struct {
	ID        string    `json:"id" doc:"The id of the request, as in X-Request-Id."`
	CreatedAt time.Time `json:"created_at" doc:"When it was answered."`
	Email     string    `json:"email"`
	Action    string    `json:"action" doc:"The operation's id, such as create-config."`
	ObjectID  string    `json:"object_id" doc:"Id of the object; empty for none or several."`
	Status    int       `json:"status" doc:"The HTTP status of the answer."`
	Method    string    `json:"method" doc:"The HTTP method."`
	Path      string    `json:"path" doc:"The path, without the query."`
	IP        string    `json:"ip"`
	Source    string    `json:"source" enum:"api,platform,unknown" doc:"api: by an API key; platform: by a bearer token."`
}

// AuditList is a page of the audit log.
type AuditList struct {
	Message string       `json:"message"`
	Data    []AuditEntry `json:"data"`
}

// AuditWindow is the requested part of the audit log.
type AuditWindow struct {
	Limit  int `query:"limit" minimum:"1" maximum:"100" default:"100" doc:"Maximum number of items."`
	Offset int `query:"offset" minimum:"0" maximum:"2147483648" default:"0" doc:"Items to skip."`
}

func (w AuditWindow) page() page.Window { return page.Window{Offset: w.Offset, Limit: w.Limit} }

// AuditQuery has the parameters of the audit log.
type AuditQuery struct {
	Email  string `query:"email" maxLength:"254" doc:"Only those of this address."`
	Action string `query:"action" maxLength:"200" doc:"Only those of this operation, by its id, such as create-config."`
	Source string `query:"source" enum:"api,platform,unknown" doc:"Only those by an API key (api) or by a bearer token (platform)."`
	wire.HistoryRange
	AuditWindow
}

func (s area) auditLog() {
	const path, tag = "/v1/team/audit_log", "Audit log"
	list := wire.Op("list-audit-log", "GET "+path, tag, "Your team's audit log, newest first (not for guests)")
	list.Description = "Each request of a member except GET has an entry, also a failed one; only requests over the rate limit have none. " +
		"Entries contain neither bodies nor queries."
	rest.Handle(s.API, list, func(ctx context.Context, in *AuditQuery) (*AuditList, error) {
		since, until, err := in.Times(time.Now())
		if err != nil {
			return nil, err
		}
		f := audit.Filter{Email: in.Email, Action: in.Action, Source: audit.Source(in.Source), Since: since, Until: until}
		return auditAnswer(s.Audit.Find(ctx, f, in.page()))
	})
	search := wire.Op("search-audit-log", "GET "+path+"/search", tag,
		"Search the audit log by one word, newest first (not for guests)")
	search.Description = "A status, a source, an IP address, an e-mail address or a part of one, an HTTP method and a path are recognised; " +
		"anything else is searched in the path, the operation's id and the object's id."
	rest.Handle(s.API, search, func(ctx context.Context, in *struct {
		Q string `query:"q" required:"true" minLength:"1" maxLength:"200" doc:"What to look for."`
		AuditWindow
	}) (*AuditList, error) {
		return auditAnswer(s.Audit.Search(ctx, in.Q, in.page()))
	})
}

func auditAnswer(found []audit.Entry, err error) (*AuditList, error) {
	return &AuditList{"Entries of the audit log.", rest.Each(found, func(e audit.Entry) AuditEntry {
		return AuditEntry{
			ID: e.ID, CreatedAt: e.CreatedAt, Email: e.Email, Action: e.Action, ObjectID: e.Object, Status: e.Status,
			Method: e.Method, Path: e.Path, IP: e.IP, Source: string(e.Source),
		}
	})}, err
}
